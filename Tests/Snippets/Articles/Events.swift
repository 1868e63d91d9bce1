// The samples of ports for signals, processes and messages, of leases and of a worker's state.

import Glibc
import RunLoops
import WorkerThreads

/// Compiled only: an asynchronous `main` has other threads by now, and no run of the main loop.
func signalPort() throws {
    // sample: signal-port
    let ends = try SignalPort([.terminate, .interrupt]) { received in
        print("\(received.signal) from process \(received.senderProcessID)")
        ThreadRunLoop.current.stop()
    }
    try ends.add(to: .current)
    // end
    _ = ThreadRunLoop.current.run()
}

func processPort(_ child: Int) throws {
    // sample: process-port
    let end = try ProcessPort(processID: child) { status in print("the child: \(status)") }
    try end.add(to: .current)
    // end
    _ = ThreadRunLoop.current.run()
}

func lease() {
    let loop = ThreadRunLoop.current
    // sample: lease
    do {
        let ticking = loop.lease(ThreadRunLoop.Timer(after: .zero) { _ in print("tick") })
        _ = loop.run(until: .distantPast)
        ticking.end()
    }
    // end
}

func messages() async throws {
    let worker = try WorkerThread(name: "messages")
    // sample: messages
    let (port, messages) = MessagePort.makeStream(of: Int.self, limit: 100)
    port.add(to: worker.runLoop)
    port.send(1)
    for await message in messages {
        print(message)
        if message == 1 { break }
    }
    // end
}

/// A value that is not Sendable, and stays on its thread.
private final class Counter {
    var count = 0
}

func workerState() async throws {
    // sample: worker-state
    let worker = try WorkerThread(name: "counter")
    let state = try worker.makeState { Counter() }
    try state.post { counter in counter.count += 1 }
    let ticks = state.timer(every: .milliseconds(5)) { counter in counter.count += 1 }
    let count = try await state.submit { counter in counter.count }
    ticks.end()
    // end
    print(count >= 1)
}
