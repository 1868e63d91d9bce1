// Where another thread of this process is, without stopping it: a real-time signal makes it note
// the return addresses on its own stack. What they mean is found out afterwards (Symbols.swift).
//
// The stack is walked by the C library's backtrace(3), not along frame pointers: C libraries are
// built without those, and it is in them that a thread mostly hangs. It is loaded beforehand, and
// finds its tables without a lock or an allocation (glibc 2.35 and gcc 12 on). The toolchain's
// Runtime module walks the calling thread's stack only, and allocates for it: it can't be called in
// a signal handler.
//
// The signal interrupts a system call that the thread is in. It is restarted (SA_RESTART), but for
// those that never are after a handler (signal(7): sleeps, polls, and waits with a time limit),
// which return EINTR as after any other signal.
//
// `state` of a capture
//    0 unused, 2 filled in   belongs to the thread that has taken it
//    1 asked                 here, before the signal: belongs to the thread
//    4 being filled in       the handler, which then releases the frames by 2
//    3 given up              here, from 1: the handler gives it back by 0 and reads nothing
// So a thread that answers late writes to no capture that another thread has by then, and looks at
// no word that may be gone.

internal import CLinux
internal import Glibc
package import Synchronization

/// Finds out where threads of this process are.
package enum ThreadBacktrace {
    /// A capture's memory, which is never given back: a late signal handler may still write to it.
    @safe
    private struct Capture: @unchecked Sendable {
        // SAFETY: the memory is never freed, and whose it is say `isTaken` and its `state`.
        let memory: UnsafeMutablePointer<clinux_capture>
        /// Whether a thread waits for it.
        var isTaken = true

        var state: UInt32 { unsafe clinux_capture_state(memory) }
        var isAnswered: Bool { state == 2 }
        /// Whether no thread has anything to do with it.
        var isFree: Bool { !isTaken && (state == 0 || state == 2) }
    }

    /// All that there are, so many threads at most that were asked and have not answered.
    private static let captures = Mutex<[Capture]>([])
    private static let captureCountMax = 64

    /// The signal; nil when every real-time signal has another use.
    private static let signal: CInt? = {
        clinux_prepare_backtrace()
        var number = clinux_last_realtime_signal()
        // From the end: programs that use such signals mostly count from the first.
        while number > clinux_first_realtime_signal() {
            if clinux_install_capture_handler(number) == 0 { return number }
            number -= 1
        }
        return nil
    }()

    /// Lets the calling thread be asked.
    ///
    /// A thread blocks the signals that its creator blocked, and libdispatch's threads, on which
    /// tasks run, block all.
    ///
    /// - Thread: any.
    /// - Source: pthread_sigmask(3).
    package static func allowOnThisThread() {
        if let signal { Signal.unblock([Signal(signal)]) }
    }

    /// The return addresses on the stack of a thread, the innermost first, and what it had written
    /// to a word then.
    ///
    /// The first is where the thread is; each other one is where it will go on.
    ///
    /// - Parameters:
    ///   - thread: a thread of this process that called `allowOnThisThread()` and does not end
    ///     meanwhile.
    ///   - limit: how long to wait for it; one that blocks signals or is stuck in the kernel
    ///     may never answer.
    ///   - word: written by that thread, and there until this returns.
    /// - Returns: no addresses when it did not answer, or when the process has no signal left for
    ///   this; and the word as the thread saw it.
    /// - Thread: any thread but that one.
    /// - Blocks: for as long as the thread needs to be scheduled, at most for `limit`.
    /// - Source: rt_tgsigqueueinfo(2), backtrace(3).
    package static func addresses(
        of thread: SystemThread.ID, within limit: Duration = .seconds(1),
        stampedBy word: borrowing Atomic<UInt64>
    ) -> (addresses: [UInt], stamp: UInt64) {
        // SAFETY: the caller keeps the atomic in place, and its storage is the bare eight bytes.
        unsafe withUnsafePointer(to: word) { pointer in
            unsafe stack(
                of: thread, within: limit,
                word: UnsafeRawPointer(pointer).assumingMemoryBound(to: UInt64.self))
        }
    }

    private static func stack(
        of thread: SystemThread.ID, within limit: Duration, word: UnsafePointer<UInt64>
    ) -> (addresses: [UInt], stamp: UInt64) {
        require(thread != .current, "a thread can't wait for its own backtrace")
        guard let signal, let capture = takeCapture() else { return ([], 0) }
        defer { giveBack(capture) }
        unsafe capture.memory.pointee.word = unsafe word
        unsafe clinux_set_capture_state(capture.memory, 1)
        guard unsafe clinux_ask_thread(thread.number, signal, capture.memory) == 0 else {
            unsafe clinux_set_capture_state(capture.memory, 0)
            return ([], 0)
        }
        guard wait(for: capture, within: limit) else { return ([], 0) }
        return (addresses(in: capture), unsafe capture.memory.pointee.stamp)
    }

    private static func takeCapture() -> Capture? {
        captures.withLock { captures in
            if let free = captures.firstIndex(where: { $0.isFree }) {
                captures[free].isTaken = true
                return captures[free]
            }
            guard captures.count < captureCountMax else { return nil }
            let memory = UnsafeMutablePointer<clinux_capture>.allocate(capacity: 1)
            unsafe memory.initialize(to: clinux_capture())
            let new = unsafe Capture(memory: memory)
            captures.append(new)
            return new
        }
    }

    private static func giveBack(_ capture: Capture) {
        captures.withLock { captures in
            let index = captures.firstIndex { unsafe $0.memory == capture.memory }
            if let index { captures[index].isTaken = false }
        }
    }

    private static func wait(for capture: Capture, within limit: Duration) -> Bool {
        let deadline = SystemClock().now().advanced(by: limit).nanoseconds
        var time = timespec(
            tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        while !capture.isAnswered {
            // `state` is the first field: the futex is where the capture is.
            let result = unsafe clinux_futex_wait(capture.memory, 1, &time)
            if result == -ETIMEDOUT, unsafe clinux_give_up_capture(capture.memory) != 0 {
                return false
            }
            // It answers at this moment.
            if capture.state == 4 { SystemThread.yield() }
        }
        return true
    }

    private static func addresses(in capture: Capture) -> [UInt] {
        let frames = unsafe withUnsafeBytes(of: &capture.memory.pointee.frames) { bytes in
            unsafe Array(bytes.bindMemory(to: UInt.self))
        }
        let count = unsafe max(0, min(Int(capture.memory.pointee.count), frames.count))
        // In front are the handler and the kernel's return from it.
        let interrupted = unsafe capture.memory.pointee.interrupted
        let start = frames[..<count].firstIndex(of: interrupted) ?? min(2, count)
        return Array(frames[start..<count])
    }
}
