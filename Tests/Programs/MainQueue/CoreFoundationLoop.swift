// CoreFoundation's main run loop: the referee.

import CoreFoundation
import Foundation
import RunLoopsTesting
import Support

final class CoreFoundationLoop: MainLoop, @unchecked Sendable {
    // SAFETY: `loop` may be used on any thread; the rest is immutable.
    private let loop: CFRunLoop = CFRunLoopGetMain()
    private let trace: Trace

    init(_ trace: Trace) { self.trace = trace }

    private static func mode(_ name: String) -> CFRunLoopMode {
        if name == "default" { return kCFRunLoopDefaultMode }
        return CFStringCreateWithCString(kCFAllocatorSystemDefault, name, 0x0800_0100)
    }

    func observe(_ mode: String) {
        let activities = CFRunLoopActivity.entry.rawValue | CFRunLoopActivity.exit.rawValue
        let trace = trace
        let observer = CFRunLoopObserverCreateWithHandler(
            kCFAllocatorSystemDefault, activities, true, 0
        ) { _, activity in
            let isEntry = activity.rawValue == CFRunLoopActivity.entry.rawValue
            trace.note("\(isEntry ? "entry" : "exit") \(mode)")
        }
        CFRunLoopAddObserver(loop, observer, Self.mode(mode))
    }

    func keepAlive(_ mode: String) {
        var context = CFRunLoopSourceContext()
        context.perform = { _ in }
        let source = CFRunLoopSourceCreate(kCFAllocatorSystemDefault, 0, &context)
        CFRunLoopAddSource(loop, source, Self.mode(mode))
    }

    func addCommonMode(_ mode: String) { CFRunLoopAddCommonMode(loop, Self.mode(mode)) }

    func perform(_ mode: String, _ body: @escaping @Sendable () -> Void) {
        CFRunLoopPerformBlock(loop, Self.mode(mode), body)
        CFRunLoopWakeUp(loop)
    }

    func run(_ mode: String, seconds: Double, afterSource: Bool) {
        let result = CFRunLoopRunInMode(Self.mode(mode), seconds, afterSource)
        let names = [1: "finished", 2: "stopped", 3: "timedOut", 4: "handledSource"]
        trace.note("\(mode): \(names[Int(result.rawValue)] ?? "?")")
    }

    func stop() { CFRunLoopStop(loop) }
}
