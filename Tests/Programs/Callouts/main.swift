// A program that hangs in one callout of each kind, each on a thread of its own. When all of them
// are there it stops at SIGTRAP, so that the debugger that runs it can be asked what it sees.

import Dispatch
import Glibc
import RunLoops
import RunLoopsTesting
import Support

let reached = Counter()
let kinds = ["source", "port", "timer", "time-out", "observer", "block"]

/// Never returns: the frame of the callout stays where the debugger looks.
@Sendable func hang() {
    reached.increment()
    while true { _ = pause() }
}

func arrange(_ kind: String, on loop: ThreadRunLoop) {
    switch kind {
    case "source":
        let source = ThreadRunLoop.Source { hang() }
        loop.add(source)
        source.signal()
    case "port":
        let port = ThreadRunLoop.Port { _, _ in hang() }
        try? loop.add(port)
        port.signal()
    case "timer": loop.add(ThreadRunLoop.Timer(after: .zero) { _ in hang() })
    case "time-out": loop.schedule(after: .zero) { hang() }
    case "observer":
        loop.keepAlive()
        loop.add(ThreadRunLoop.Observer(.beforeWaiting) { _, _ in hang() })
    default: loop.perform { hang() }
    }
}

var threads: [TestThread] = []
for kind in kinds {
    threads.append(
        try TestThread(name: kind) {
            let loop = ThreadRunLoop.current
            arrange(kind, on: loop)
            _ = loop.run()
        })
}
threads.append(
    try TestThread(name: "watch") {
        while reached.count <= kinds.count { usleep(1_000) }
        raise(SIGTRAP)
    })
DispatchQueue.main.async { hang() }
_ = ThreadRunLoop.main.run()
