// The rival whose semantics ours are: Foundation's run loop on a thread of its own. Its `perform`
// does not wake the loop, so CoreFoundation's wake-up is called behind it.

internal import CoreFoundation
internal import Dispatch
internal import Foundation
internal import Kernel
internal import Synchronization

/// `RunLoop.perform` and `CFRunLoopWakeUp`.
final class FoundationPoster: Poster, @unchecked Sendable {
    // SAFETY: both loops are set once, before `ready` is signalled, and read after it.
    // RunLoop.perform and CFRunLoopWakeUp may be called from any thread.
    private var loop: RunLoop?
    private var core: CFRunLoop?
    private let isStopped = Atomic<Bool>(false)
    private let ended = DispatchSemaphore(value: 0)

    init() throws {
        let ready = DispatchSemaphore(value: 0)
        let thread = Thread { [unowned self] in
            loop = RunLoop.current
            core = CFRunLoopGetCurrent()
            // Without anything in it a run would return at once.
            let keeper = Timer(fire: .distantFuture, interval: 1e9, repeats: true) { _ in }
            RunLoop.current.add(keeper, forMode: .default)
            ready.signal()
            while !isStopped.load(ordering: .acquiring) {
                _ = RunLoop.current.run(mode: .default, before: .distantFuture)
            }
            keeper.invalidate()
            ended.signal()
        }
        thread.start()
        ready.wait()
    }

    func post(_ body: @escaping @Sendable () -> Void) {
        guard let loop, let core else { fatalError("the loop's thread has not started") }
        loop.perform(body)
        CFRunLoopWakeUp(core)
    }

    func stop() {
        guard let core else { return }
        isStopped.store(true, ordering: .releasing)
        post { CFRunLoopStop(CFRunLoopGetCurrent()) }
        CFRunLoopWakeUp(core)
        ended.wait()
    }
}
