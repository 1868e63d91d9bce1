// The samples of the landing pages and of the types' own documentation.

import RunLoops
import WorkerThreads

func overview() {
    // sample: overview
    let loop = ThreadRunLoop.current
    let source = ThreadRunLoop.Source { print("the source performs") }
    let timer = ThreadRunLoop.Timer(after: .milliseconds(5)) { _ in
        print("the timer fires")
        source.signal()
    }
    let observer = ThreadRunLoop.Observer(.beforeWaiting) { _, _ in print("nothing to do") }
    loop.add(source)
    loop.add(timer)
    loop.add(observer)
    print(loop.run(for: .seconds(60), returnAfterSourceHandled: true))
    // end
}

func firstLoop() {
    // sample: first-loop
    let loop = ThreadRunLoop.current
    loop.add(ThreadRunLoop.Timer(after: .seconds(1)) { _ in print("tick") })
    _ = loop.run(mode: .default, for: .seconds(2))  // prints tick after one of them
    // end
}

func firstWorker() throws {
    // sample: first-worker
    let ledger = try WorkerThread(name: "ledger")
    try ledger.post { print("on \(WorkerThread.currentName ?? "?")") }  // on ledger
    ledger.stop(.finishQueued)
    ledger.join()
    // end
}

func firstAnswer() async throws {
    let worker = try WorkerThread(name: "answers")
    // sample: first-answer
    let answer = try await worker.submit { 6 * 7 }
    // end
    print(answer)
}

func fastAnswers() throws {
    // sample: fast-answers
    let gpu = try WorkerThread(name: "gpu", spinLimit: .microseconds(100))
    // end
    try gpu.submitAndWait { print("on \(WorkerThread.currentName ?? "?")") }
}

func watched() throws {
    let ledger = try WorkerThread(name: "ledger")
    // sample: watched
    try ledger.watch(limit: .seconds(2)) { report in print(report) }
    // end
    try ledger.submitAndWait { print("in time") }
}

func replacing() throws {
    let pool = try WorkerPool(name: "thumbnails", count: 4)
    // sample: replacing
    @Sendable func look(after member: WorkerThread, of pool: WorkerPool) throws {
        try member.watch(limit: .seconds(30)) { [weak pool] report in
            print(report)
            guard let pool, !report.isOver else { return }
            let seat = try? pool.replaceMember(named: report.thread)
            if let seat { try? look(after: seat.fresh, of: pool) }
        }
    }
    for member in pool.members { try look(after: member, of: pool) }
    // end
}

func firstPool() async throws {
    // sample: first-pool
    let pool = try WorkerPool(name: "app", threads: ["images", "ledger"])
    let size = try await pool.submit(onThread: "images") { 42 }
    // end
    print(size)
}
