import WorkerThreads

let worker = try WorkerThread(name: "first")
let answer = try await worker.submit { 6 * 7 }
print("the answer is \(answer)")

let due: Instant = worker.runLoop.now.advanced(by: .milliseconds(5))
let timer = ThreadRunLoop.Timer(at: due) { _ in
    print("five milliseconds later, on", WorkerThread.currentName ?? "?")
}
worker.runLoop.add(timer)
while timer.isValid { try await worker.sleep(for: .milliseconds(5)) }

worker.stop(.finishQueued)
try await worker.ended()
