import WorkerThreads

let pool = try WorkerPool(name: "app", threads: ["images", "ledger"])

try pool.submit(onThread: "ledger") { print("booked on", WorkerThread.currentName ?? "?") }
let answer: Int = try await pool.submit(onThread: "images") { 6 * 7 }

pool.stop(.finishQueued)
pool.join()
print("images says", answer)
