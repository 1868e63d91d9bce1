// A thread of the operating system: started with a name, joined once. Nothing of run loops here.

internal import CLinux
internal import Glibc

/// A started thread that can be joined once; letting go of it detaches it.
///
/// - Source: pthread_create(3), pthread_join(3), pthread_detach(3).
package struct SystemThread: ~Copyable, Sendable {
    private let handle: pthread_t

    /// Starts a thread.
    ///
    /// - Parameters:
    ///   - name: shown by `ps`, `gdb` and profilers; of the kernel's 15 bytes, those
    ///     that are whole characters.
    ///   - stackByteCount: size of its stack; nil is the system's default (usually 8 MiB, of which
    ///     only the pages that are touched cost memory).
    ///   - body: what it does; the thread ends when this returns.
    /// - Throws: EAGAIN when the system has no room for another thread.
    /// - Thread: any thread.
    package init(
        name: String, stackByteCount: Int? = nil, body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        if let stackByteCount {
            let smallest = 64 << 10
            let result = unsafe pthread_attr_setstacksize(
                &attributes, max(stackByteCount, smallest))
            require(result == 0, "a stack of \(stackByteCount) bytes is not possible")
        }
        let start = unsafe Unmanaged.passRetained(ThreadStart(name: name, body: body))
        var handle = pthread_t()
        let result = unsafe pthread_create(
            &handle, &attributes,
            { argument in
                guard let argument = unsafe argument else { return nil }
                // Let go of at the end only: a thread that has freed something has a heap.
                let start = unsafe Unmanaged<ThreadStart>.fromOpaque(argument)
                unsafe start.takeUnretainedValue().run()
                unsafe start.release()
                return nil
            }, start.toOpaque())
        guard result == 0 else {
            unsafe start.release()
            throw SystemError(operation: "pthread_create \(name)", errno: result)
        }
        self.handle = handle
    }

    deinit {
        _ = pthread_detach(handle)
    }

    /// Waits until the thread has ended, with everything that it kept for itself.
    ///
    /// - Thread: any thread but this one.
    /// - Blocks: until the thread has ended.
    package consuming func join() {
        require(pthread_equal(handle, pthread_self()) == 0, "a thread can't join itself")
        let result = pthread_join(handle, nil)
        require(result == 0, "pthread_join failed with errno \(result)")
        discard self
    }

    /// Gives the calling thread a name.
    package static func setCurrentName(_ name: String) {
        // pthread_setname_np(3): more than 15 bytes are refused, so the end is cut, not the start,
        // and between two characters, or a reader of the name as text fails.
        let text = name.utf8
        var end =
            text.index(text.startIndex, offsetBy: 15, limitedBy: text.endIndex) ?? text.endIndex
        while end < text.endIndex, UTF8.isContinuation(text[end]) { end = text.index(before: end) }
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16) { bytes in
            unsafe bytes.initialize(repeating: 0)
            for (index, byte) in text[..<end].enumerated() {
                unsafe bytes[index] = CChar(bitPattern: byte)
            }
            guard let start = bytes.baseAddress else { return }
            _ = unsafe pthread_setname_np(pthread_self(), start)
        }
    }

    /// The system's number for a thread, while the thread lives.
    package struct ID: Sendable, Hashable {
        package let number: Int32

        /// The thread of a number that `current` has given before.
        package init(number: Int32) { self.number = number }

        /// That of the calling thread.
        ///
        /// - Source: gettid(2).
        package static var current: ID { ID(number: clinux_gettid()) }
    }

    /// Lets the calling thread run on some processors only.
    ///
    /// - Parameter processors: their numbers, from 0 on, at least one.
    /// - Throws: EINVAL when none of them is there, or none may be used by this process.
    /// - Thread: the calling thread; threads that it starts later inherit it.
    /// - Source: sched_setaffinity(2).
    package static func setCurrentProcessors(_ processors: Set<Int>) throws(SystemError) {
        var bits = [UInt64](repeating: 0, count: processorWordCount)
        for number in processors {
            require(
                number >= 0 && number < bits.count * 64,
                "a processor's number is 0 to \(bits.count * 64 - 1), not \(number)")
            bits[number / 64] |= 1 << UInt64(number % 64)
        }
        try retrying("sched_setaffinity") {
            unsafe clinux_set_affinity(&bits, bits.count * MemoryLayout<UInt64>.size)
        }
    }

    /// Linux counts at most 8,192 processors.
    private static var processorWordCount: Int { 128 }

    /// Sets how readily the calling thread gives way to others.
    ///
    /// - Parameter niceness: -20, the least nice, to 19; others are clamped to that.
    /// - Throws: EACCES or EPERM when it may not become less nice.
    /// - Thread: the calling thread; threads that it starts later inherit it.
    /// - Source: setpriority(2), which on Linux is about one thread.
    package static func setCurrentNiceness(_ niceness: Int) throws(SystemError) {
        try retrying("setpriority \(niceness)") {
            clinux_set_niceness(ID.current.number, CInt(clamping: niceness))
        }
    }

    /// Lets another thread run that is ready to.
    ///
    /// - Source: sched_yield(2).
    package static func yield() {
        sched_yield()
    }

    /// On how many processors the program may run, as far as its start has decided that.
    ///
    /// - Source: sched_getaffinity(2).
    package static let processorCount = Int(clinux_processor_count())

    /// Waits without giving the processor away; for less than what going to sleep costs.
    ///
    /// - Blocks: for `duration`, awake.
    package static func linger(_ duration: Duration) {
        let clock = SystemClock()
        let end = clock.now().advanced(by: duration)
        while clock.now() < end { clinux_relax() }
    }

    /// Whether the calling thread is the process's main thread.
    ///
    /// - Source: gettid(2): the first thread's id is the process's.
    package static var isMain: Bool { ID.current.number == getpid() }

    /// Lets timed waits of the calling thread end as exactly as the kernel can.
    ///
    /// The default lets them be 50 µs late to save power (prctl(2), PR_SET_TIMERSLACK).
    package static func setCurrentTimerSlackToMinimum() {
        clinux_set_timer_slack(1)
    }
}

/// The arguments of a new thread: its name and its body.
private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }

    func run() {
        SystemThread.setCurrentName(name)
        body()
    }
}
