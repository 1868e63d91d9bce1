import WorkerThreads

let pool = try WorkerPool(name: "app", threads: ["images", "ledger"])

try pool.post(onThread: "ledger") { print("booked on", WorkerThread.currentName ?? "?") }
let answer = try await pool.submit(onThread: "images") { 6 * 7 }

pool.stop(.finishQueued)
pool.join()
print("images says", answer)
