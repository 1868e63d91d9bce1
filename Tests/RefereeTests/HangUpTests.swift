// A port whose other end hangs up, on both loops: it ends a sleep, is called, and keeps nothing
// awake once it is invalid. CoreFoundation calls it once (rule `moreMessages`), our loop in each
// pass.

import CoreFoundation
import Foundation
import Kernel
import RunLoops
import Support
import Testing

/// The calling thread's run loop with one port, on the reading end of a pipe.
private protocol PortLoop: AnyObject, SendableMetatype {
    /// - Parameter handler: called for the port; returns whether the port stays valid.
    init(watching descriptor: CInt, handler: @escaping () -> Bool)

    /// Runs until the port was called, or nothing is left in the mode.
    func run() -> ThreadRunLoop.RunResult
    /// Whether the loop sleeps; from any thread.
    var isWaiting: Bool { get }
}

private final class OurPortLoop: PortLoop {
    private let loop = ThreadRunLoop.current

    init(watching descriptor: CInt, handler: @escaping () -> Bool) {
        let carried = Carried(value: handler)
        let port = ThreadRunLoop.Port(watching: descriptor) { port, _ in
            if !carried.value() { port.invalidate() }
        }
        do {
            try loop.add(port)
        } catch {
            preconditionFailure("a mode can't watch a pipe: \(error)")
        }
    }

    func run() -> ThreadRunLoop.RunResult {
        loop.run(for: .seconds(60), returnAfterSourceHandled: true)
    }

    var isWaiting: Bool { loop.isWaiting }
}

private final class CoreFoundationPortLoop: PortLoop {
    private let loop: CFRunLoop = CFRunLoopGetCurrent()
    private let descriptor: CInt
    private let handler: () -> Bool
    private var source: CFRunLoopSource?

    init(watching descriptor: CInt, handler: @escaping () -> Bool) {
        self.descriptor = descriptor
        self.handler = handler
        var context = CFRunLoopSourceContext1()
        context.version = 1
        context.info = Unmanaged.passUnretained(self).toOpaque()
        context.getPort = { info in info.map { CoreFoundationPortLoop.of($0).descriptor } ?? -1 }
        context.perform = { info in
            guard let info else { return }
            let it = CoreFoundationPortLoop.of(info)
            if it.handler() { return }
            if let source = it.source { CFRunLoopSourceInvalidate(source) }
        }
        source = withUnsafeMutablePointer(to: &context) { context in
            context.withMemoryRebound(to: CFRunLoopSourceContext.self, capacity: 1) {
                CFRunLoopSourceCreate(kCFAllocatorSystemDefault, 0, $0)
            }
        }
        CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
    }

    private static func of(_ info: UnsafeMutableRawPointer) -> CoreFoundationPortLoop {
        Unmanaged<CoreFoundationPortLoop>.fromOpaque(info).takeUnretainedValue()
    }

    func run() -> ThreadRunLoop.RunResult {
        let result = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 60, true)
        return ThreadRunLoop.RunResult(rawValue: Int(result.rawValue)) ?? .timedOut
    }

    var isWaiting: Bool { CFRunLoopIsWaiting(loop) }
}

@Suite(.serialized, .timeLimit(.minutes(2))) struct `A port whose other end hangs up` {
    /// The account of a loop: the result of each run, and the calls of the port until its end.
    private struct Shown: Equatable {
        /// An account that another thread writes; it is joined before the account is read.
        final class Box {
            var shown = Shown()
        }

        var results: [ThreadRunLoop.RunResult] = []
        var callCounts: [Int] = []
    }

    /// Runs a loop on a thread of its own, once more than the port is valid.
    ///
    /// - Parameters:
    ///   - runCount: the run in which the port's handler makes it invalid.
    ///   - duringSleep: whether it hangs up once the loop sleeps, or before the first run.
    private func shown(
        by type: (some PortLoop).Type, validFor runCount: Int, duringSleep: Bool
    ) throws -> Shown {
        let outcome = Carried(value: Shown.Box())
        try TestThread(name: "loop") {
            var ends: [CInt] = [-1, -1]
            guard pipe(&ends) == 0 else { return }
            let (reading, writing) = (ends[0], ends[1])
            _ = fcntl(reading, F_SETFL, O_NONBLOCK)
            var shown = Shown()
            var callCount = 0
            let loop = type.init(watching: reading) {
                callCount += 1
                return shown.results.count + 1 < runCount
            }
            let carried = Carried(value: loop)
            if !duringSleep { close(writing) }
            let other =
                duringSleep
                ? try? SystemThread(name: "other") {
                    while !carried.value.isWaiting { sched_yield() }
                    close(writing)
                } : nil
            for _ in 0...runCount {
                callCount = 0
                shown.results.append(loop.run())
                shown.callCounts.append(callCount)
            }
            other?.join()
            close(reading)
            outcome.value.shown = shown
        }.join()
        return outcome.value.shown
    }

    @Test(arguments: [false, true])
    func `is called alike by both loops`(duringSleep: Bool) throws {
        let ours = try shown(by: OurPortLoop.self, validFor: 1, duringSleep: duringSleep)
        let theirs = try shown(
            by: CoreFoundationPortLoop.self, validFor: 1, duringSleep: duringSleep)
        #expect(ours == theirs)
        #expect(ours == Shown(results: [.handledSource, .finished], callCounts: [1, 0]))
    }

    @Test func `is called by ours in each pass as long as it is valid`() throws {
        let ours = try shown(by: OurPortLoop.self, validFor: 3, duringSleep: false)
        #expect(
            ours
                == Shown(
                    results: [.handledSource, .handledSource, .handledSource, .finished],
                    callCounts: [1, 1, 1, 0]))
    }
}
