import WorkerThreads

actor Ledger {
    private let thread: WorkerThread
    private var balance = 0

    init(on thread: WorkerThread) { self.thread = thread }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.executor.asUnownedSerialExecutor()
    }

    func book(_ amount: Int) -> String {
        balance += amount
        return "\(balance), on \(WorkerThread.currentName ?? "?")"
    }
}

let thread = try WorkerThread(name: "ledger")
let ledger = Ledger(on: thread)
print(await ledger.book(40))
print(await ledger.book(2))
thread.stop(.finishQueued)
thread.join()
