// A programmer's minimum: a mutex, a condition variable and an array that the thread takes whole.
// It has no timers, no modes, no order to stop; so it shows what those cost.

internal import Glibc

/// A lock and a batch of closures.
struct HandmadeLoop: Loop {
    // In a struct: a bare closure in an array costs one more allocation.
    private struct Job: Sendable {
        let body: @Sendable () -> Void
    }

    private let batch: Batch<Job>

    init() throws { batch = try Batch { $0.body() } }

    @inline(__always)
    func postBare() { batch.add(Job { WorkTally.shared.note(1) }) }

    @inline(__always)
    func post(_ tally: WorkTally, _ index: Int) { batch.add(Job { tally.note(index) }) }

    func post(_ body: @escaping @Sendable () -> Void) { batch.add(Job(body: body)) }

    func stop() { batch.stop() }
}

/// A lock and a batch of plain values.
struct HandmadeCommandLoop: CommandLoop {
    private let batch: Batch<LoopCommand>

    init() throws { batch = try Batch { $0.perform() } }

    @inline(__always)
    func send(_ command: LoopCommand) { batch.add(command) }

    func stop() { batch.stop() }
}

/// A thread that performs added work, batch by batch.
@safe private final class Batch<Element: Sendable>: @unchecked Sendable {
    // SAFETY: the two pointers and `thread` are set once, the pointers freed with the object;
    // `elements` and `isStopped` are touched with `mutex` locked only.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let arrived = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var elements: [Element] = []
    private var isStopped = false
    private var thread: RivalThread?

    init(_ perform: @escaping @Sendable (Element) -> Void) throws {
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(arrived, nil)
        thread = try RivalThread("handmade") { [self] in serve(perform) }
    }

    deinit {
        unsafe pthread_cond_destroy(arrived)
        unsafe pthread_mutex_destroy(mutex)
        unsafe arrived.deallocate()
        unsafe mutex.deallocate()
    }

    @inline(__always)
    func add(_ element: Element) {
        unsafe pthread_mutex_lock(mutex)
        elements.append(element)
        let isFirst = elements.count == 1
        unsafe pthread_mutex_unlock(mutex)
        if isFirst { unsafe pthread_cond_signal(arrived) }
    }

    func stop() {
        unsafe pthread_mutex_lock(mutex)
        isStopped = true
        unsafe pthread_mutex_unlock(mutex)
        unsafe pthread_cond_signal(arrived)
        thread?.join()
    }

    private func serve(_ perform: (Element) -> Void) {
        var batch: [Element] = []
        while true {
            unsafe pthread_mutex_lock(mutex)
            while elements.isEmpty && !isStopped { unsafe pthread_cond_wait(arrived, mutex) }
            swap(&batch, &elements)
            unsafe pthread_mutex_unlock(mutex)
            if batch.isEmpty { return }
            for element in batch { perform(element) }
            batch.removeAll(keepingCapacity: true)
        }
    }
}
