// A request whose sender learns what became of it. It is started, refused or cancelled, and exactly
// one of the three wins, on whichever threads they meet. Knows nothing of queues and loops.
//
// Values of `state`
//    fresh    no sender can be told yet: it is still making ready to wait
//    waiting  its turn has not come
//    decided  started, refused or cancelled: the thread that made it so owns `run` and `tell`
//
// CancellableRequest.E1 arm       fresh ─▶ waiting
//    arm: compareExchange, releasing what the sender prepared (its continuation). Fails only if E2
//    came first: then the sender tells itself, and nothing is queued.
// CancellableRequest.E2 give up   fresh ─▶ decided
//    cancel: exchange. No sender waits yet, so none is told.
// CancellableRequest.E3 start     waiting ─▶ decided
//    perform: compareExchange, acquiring what E1 released; then `run`.
// CancellableRequest.E4 refuse    waiting ─▶ decided
//    refuse: compareExchange, as E3; then `tell`.
// CancellableRequest.E5 cancel    waiting ─▶ decided
//    cancel: exchange, acquiring as E3; then `tell`.
//
// E3, E4 and E5 leave the same value, and only one of them can take it: a cancelled request never
// runs, a running one is not told of a cancellation, and no sender is told twice. Without the
// release of E1 and the acquire of E3–E5 the winner would read a half-written continuation.

internal import Kernel
internal import Synchronization

/// A request that is run, refused or cancelled, once.
@usableFromInline
class CancellableRequest: @unchecked Sendable {
    // SAFETY: `state` is atomic. What subclasses add is written by the sender before E1 and then
    // touched only by the thread that has decided the request, once.

    private enum State {
        static let fresh: UInt8 = 0
        static let waiting: UInt8 = 1
        static let decided: UInt8 = 2
    }

    private let state: Atomic<UInt8>

    /// A request; one that is not armed can only be cancelled.
    @usableFromInline
    init(isArmed: Bool) {
        state = Atomic(isArmed ? State.waiting : State.fresh)
    }

    /// Lets it be performed or refused from now on.
    ///
    /// - Returns: false when it was cancelled before: its sender will not be told.
    @usableFromInline
    final func arm() -> Bool {
        state.compareExchange(
            expected: State.fresh, desired: State.waiting, ordering: .acquiringAndReleasing
        ).exchanged  // CancellableRequest.E1
    }

    /// Runs it, unless it was cancelled; on the thread that it is for.
    final func perform() {
        if decide() { run() }  // CancellableRequest.E3
    }

    /// Begins it without running it: another thread does that.
    ///
    /// - Returns: false when it was cancelled.
    final func begin() -> Bool { decide() }  // CancellableRequest.E3

    /// Tells its sender that it will not run.
    ///
    /// - Returns: false when it has been cancelled before, or started.
    /// - Thread: any thread.
    @discardableResult
    @usableFromInline
    func refuse(_ error: SubmitError) -> Bool {
        guard decide() else { return false }  // CancellableRequest.E4
        tell(error)
        return true
    }

    /// Takes it back because its sender no longer wants it.
    ///
    /// - Returns: false when it has been decided before.
    /// - Thread: any thread.
    @discardableResult
    @usableFromInline
    final func cancel() -> Bool {
        switch state.exchange(State.decided, ordering: .acquiringAndReleasing) {
        case State.fresh: return true  // CancellableRequest.E2
        case State.waiting:  // CancellableRequest.E5
            tell(CancellationError())
            return true
        default: return false
        }
    }

    /// Whether its sender waits until it has run or was refused.
    var isAwaited: Bool { true }

    /// Whether it was started, refused or cancelled.
    ///
    /// - Thread: any thread; once true, always true.
    var isDecided: Bool { state.load(ordering: .relaxed) == State.decided }

    private func decide() -> Bool {
        state.compareExchange(
            expected: State.waiting, desired: State.decided, ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// Does what was asked, and tells the sender; called at most once, never after `tell`.
    @usableFromInline
    func run() { fatalError("a request says what it does") }

    /// Tells the sender why it will not run; called at most once, never after `run`.
    @usableFromInline
    func tell(_ error: any Error) { fatalError("a request says whom it tells") }
}

/// A request that a task waits for.
///
/// Its beginning is inlined where the type of the result is known. The rest is compiled once for
/// all types: not a word in it of those that are made of `Result`, such as an optional or a checked
/// continuation of it, which it would look up whenever it touches one. So is `WaitedPerform`.
@usableFromInline
@safe final class AwaitedPerform<Result>: CancellableRequest, @unchecked Sendable {
    // SAFETY: as `CancellableRequest` says: it is resumed once, by the thread that has decided the
    // request. So accesses don't overlap, either. The closure is the request's own (`sending`), and
    // so is what it returns: nothing else refers to the result, or it may be used on any thread
    // (`Sendable`).
    @exclusivity(unchecked) @usableFromInline var body: (() throws -> Result)?
    @exclusivity(unchecked)
    @usableFromInline var continuation: UnsafeContinuation<Result, any Error>?

    @inlinable
    init(_ body: sending @escaping () throws -> Result) {
        unsafe self.body = body
        super.init(isArmed: false)
    }

    deinit {
        require(unsafe continuation == nil, "a task waits for a request that is gone")
    }

    /// Queues a closure and waits for what it returns.
    ///
    /// - Parameters:
    ///   - push: queues the request.
    ///   - cancelled: called once the request was cancelled; on any thread.
    /// - Throws: `CancellationError` as soon as the task is cancelled, if the closure has not
    ///   begun.
    @inlinable
    nonisolated(nonsending) static func result(
        of body: sending @escaping () throws -> Result,
        push: (consuming PerformRequest) throws(SubmitError) -> Void,
        cancelled: @Sendable () -> Void = {}
    ) async throws -> sending Result {
        let request = AwaitedPerform(body)
        // SAFETY: nothing but the continuation has referred to the result.
        nonisolated(unsafe) let result = try await withTaskCancellationHandler {
            try await unsafe withUnsafeThrowingContinuation { continuation in
                unsafe request.continuation = continuation
                guard request.arm() else { return request.tell(CancellationError()) }
                do throws(SubmitError) {
                    try push(.answered(request))
                } catch {
                    request.refuse(error)
                }
            }
        } onCancel: {
            if request.cancel() { cancelled() }
        }
        return unsafe result
    }

    @usableFromInline
    override func run() {
        guard let body = unsafe body, let continuation = unsafe takeContinuation() else { return }
        unsafe self.body = nil
        do {
            // SAFETY: the closure has given its result away, or any thread may use it.
            nonisolated(unsafe) let result = try body()
            unsafe continuation.resume(returning: result)
        } catch {
            unsafe continuation.resume(throwing: error)
        }
    }

    @usableFromInline
    override func tell(_ error: any Error) {
        // The values that the closure holds are released now, not when its turn would have come.
        unsafe body = nil
        unsafe takeContinuation()?.resume(throwing: error)
    }

    private func takeContinuation() -> UnsafeContinuation<Result, any Error>? {
        defer { unsafe continuation = nil }
        return unsafe continuation
    }
}

/// A request that a thread waits for.
@usableFromInline
@safe final class WaitedPerform<Result>: CancellableRequest, @unchecked Sendable {
    // SAFETY: `body` as `CancellableRequest` says; `place` and `error` are written before `told`
    // opens, and read after it. The place is the waiting thread's, which stays with it until then.
    // So accesses don't overlap, either.
    @exclusivity(unchecked) @usableFromInline var body: (() throws -> Result)?
    @usableFromInline let place: UnsafeMutableBufferPointer<Result>
    @exclusivity(unchecked) @usableFromInline var error: (any Error)?
    private let told = WordLatch()

    @usableFromInline
    init(
        _ body: sending @escaping () throws -> Result,
        _ place: UnsafeMutableBufferPointer<Result>
    ) {
        unsafe self.body = body
        unsafe self.place = place
        super.init(isArmed: true)
    }

    /// Queues a closure and waits for what it returns.
    ///
    /// - Parameter push: queues the request.
    /// - Thread: any but the one that performs it.
    /// - Blocks: until it has run or was refused.
    @inlinable
    static func result(
        of body: sending @escaping () throws -> Result,
        push: (consuming PerformRequest) throws(SubmitError) -> Void
    ) throws -> sending Result {
        // SAFETY: the request alone has the closure and calls it once; the caller alone has the
        // result.
        nonisolated(unsafe) let body = body
        nonisolated(unsafe) let result = try unsafe withUnsafeTemporaryAllocation(
            of: Result.self, capacity: 1
        ) { place in
            let request = unsafe WaitedPerform(body, place)
            try push(.answered(request))
            request.waitUntilTold()
            if let error = unsafe request.error { throw error }
            return unsafe place.moveElement(from: 0)
        }
        return unsafe result
    }

    @usableFromInline
    func waitUntilTold() { told.wait() }

    @usableFromInline
    override func run() {
        guard let body = unsafe body else { return }
        unsafe self.body = nil
        do {
            unsafe place.initializeElement(at: 0, to: try body())
        } catch {
            unsafe self.error = error
        }
        told.open()
    }

    @usableFromInline
    override func tell(_ error: any Error) {
        unsafe body = nil
        unsafe self.error = error
        told.open()
    }
}

/// A request without a waiting sender, which can be taken back.
final class TicketedPerform: CancellableRequest, @unchecked Sendable {
    // SAFETY: as `CancellableRequest` says; the closure was handed over by its sender.
    private var body: (() -> Void)?

    init(_ body: sending @escaping () -> Void) {
        self.body = body
        super.init(isArmed: true)
    }

    override var isAwaited: Bool { false }

    override func run() {
        let body = body
        self.body = nil
        body?()
    }

    override func tell(_ error: any Error) { body = nil }

    /// Lets it be performed after a delay, as a method of its own is.
    static let performed = Selector<TicketedPerform, NoArgument>("perform") { $0.perform() }
}
