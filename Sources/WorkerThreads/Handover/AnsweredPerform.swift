// A request whose sender learns what became of it. It is started, refused or cancelled, and exactly
// one of the three wins, on whichever threads they meet. Knows nothing of queues and loops.
//
// Values of `state`
//    fresh    nobody can be told yet: its sender is still making ready to wait
//    waiting  its turn has not come
//    decided  started, refused or cancelled: whoever made it so owns `run` and `tell`
//
// A1 arm      fresh ─▶ waiting   arm: compareExchange, releasing what the sender prepared (its
//                                continuation). Fails only if A2 came first: then the sender tells
//                                itself, and nothing is queued.
// A2 give up  fresh ─▶ decided   cancel: exchange. Nobody waits yet, so nobody is told.
// A3 start    waiting ─▶ decided perform: compareExchange, acquiring what A1 released; then `run`.
// A4 refuse   waiting ─▶ decided refuse: compareExchange, as A3; then `tell`.
// A5 cancel   waiting ─▶ decided cancel: exchange, acquiring as A3; then `tell`.
//
// A3, A4 and A5 leave the same value, and only one of them can take it: a request that was cancelled
// is never run, one that runs is never told of a cancellation, and nobody is told twice. Without
// the release of A1 and the acquire of A3–A5 the winner would read a half-written continuation.

internal import Kernel
internal import Synchronization

/// A request that is run, refused or cancelled, once.
class AnsweredPerform: @unchecked Sendable {
    // SAFETY: `state` is atomic. What subclasses add is written by the sender before A1 and then
    // touched only by whoever has decided the request, once.

    private enum State {
        static let fresh: UInt8 = 0
        static let waiting: UInt8 = 1
        static let decided: UInt8 = 2
    }

    private let state: Atomic<UInt8>

    /// A request; one that is not armed can only be cancelled.
    init(isArmed: Bool) {
        state = Atomic(isArmed ? State.waiting : State.fresh)
    }

    /// Lets it be performed or refused from now on.
    ///
    /// - Returns: false when it was cancelled before: nobody will tell its sender.
    final func arm() -> Bool {
        state.compareExchange(
            expected: State.fresh, desired: State.waiting, ordering: .acquiringAndReleasing
        ).exchanged  // A1
    }

    /// Runs it, unless it was cancelled; on the thread that it is for.
    final func perform() {
        if decide() { run() }  // A3
    }

    /// Tells its sender that it will not run.
    ///
    /// - Returns: false when it has been cancelled before, or started.
    /// - Thread: any thread.
    @discardableResult
    func refuse(_ error: SubmitError) -> Bool {
        guard decide() else { return false }  // A4
        tell(error)
        return true
    }

    /// Takes it back because its sender no longer wants it.
    ///
    /// - Returns: false when it has been decided before.
    /// - Thread: any thread.
    @discardableResult
    final func cancel() -> Bool {
        switch state.exchange(State.decided, ordering: .acquiringAndReleasing) {
        case State.fresh: return true  // A2
        case State.waiting:  // A5
            tell(CancellationError())
            return true
        default: return false
        }
    }

    /// Whether its sender waits until it has run or was refused.
    var isAwaited: Bool { true }

    private func decide() -> Bool {
        state.compareExchange(
            expected: State.waiting, desired: State.decided, ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// Does what was asked, and tells the sender; called at most once, never after `tell`.
    func run() { preconditionFailure("a request says what it does") }

    /// Tells the sender why it will not run; called at most once, never after `run`.
    func tell(_ error: any Error) { preconditionFailure("a request says whom it tells") }
}

/// A request that a task waits for.
///
/// Not a word here and in `WaitedPerform.result` of types that are made of `Result`, such as an
/// optional or a checked continuation of it: this code is not compiled for each type, and looks such
/// a type up whenever it touches one.
@safe final class AwaitedPerform<Result: Sendable>: AnsweredPerform, @unchecked Sendable {
    // SAFETY: as `AnsweredPerform` says: it is resumed once, by whoever has decided the request.
    private var body: (@Sendable () throws -> Result)?
    private var continuation: UnsafeContinuation<Result, any Error>?

    private init(_ body: @escaping @Sendable () throws -> Result) {
        self.body = body
        super.init(isArmed: false)
    }

    deinit {
        precondition(unsafe continuation == nil, "a task waits for a request that is gone")
    }

    /// Queues a closure and waits for what it returns.
    ///
    /// - Parameters:
    ///   - push: queues the request.
    ///   - cancelled: called once the request was cancelled; on any thread.
    /// - Throws: `CancellationError` as soon as the task is cancelled, if the closure has not begun.
    nonisolated(nonsending) static func result(
        of body: @escaping @Sendable () throws -> Result,
        push: (consuming PerformRequest) throws(SubmitError) -> Void,
        cancelled: @Sendable () -> Void = {}
    ) async throws -> Result {
        let request = AwaitedPerform(body)
        return try await withTaskCancellationHandler {
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
    }

    override func run() {
        guard let body, let continuation = unsafe takeContinuation() else { return }
        self.body = nil
        do {
            unsafe continuation.resume(returning: try body())
        } catch {
            unsafe continuation.resume(throwing: error)
        }
    }

    override func tell(_ error: any Error) {
        // What the closure holds is let go of now, not when its turn would have come.
        body = nil
        unsafe takeContinuation()?.resume(throwing: error)
    }

    private func takeContinuation() -> UnsafeContinuation<Result, any Error>? {
        defer { unsafe continuation = nil }
        return unsafe continuation
    }
}

/// A request that a thread waits for.
///
/// Of one type whatever the result is: its type would be looked up with each request. What knows the
/// result's type is the closure, and it keeps that in a place of the waiting thread's.
final class WaitedPerform: AnsweredPerform, @unchecked Sendable {
    // SAFETY: `body` as `AnsweredPerform` says; `error` is written before `told` opens, and read
    // after it.
    private var body: (() throws -> Void)?
    private var error: (any Error)?
    private let told = WordLatch()

    private init(_ body: @escaping () throws -> Void) {
        self.body = body
        super.init(isArmed: true)
    }

    /// Queues a closure and waits for what it returns.
    ///
    /// - Parameter push: queues the request.
    /// - Thread: any but the one that performs it.
    /// - Blocks: until it has run or was refused.
    static func result<Result: Sendable>(
        of body: @escaping @Sendable () throws -> Result,
        push: (consuming PerformRequest) throws(SubmitError) -> Void
    ) throws -> Result {
        // SAFETY: it is there until the request was told, which is after its closure has run, or
        // that never will; and initialised unless there is an error.
        let place = UnsafeMutablePointer<Result>.allocate(capacity: 1)
        defer { unsafe place.deallocate() }
        let request = WaitedPerform { unsafe place.initialize(to: try body()) }
        try push(.answered(request))
        request.told.wait()
        if let error = request.error { throw error }
        return unsafe place.move()
    }

    override func run() {
        guard let body else { return }
        self.body = nil
        do {
            try body()
        } catch {
            self.error = error
        }
        told.open()
    }

    override func tell(_ error: any Error) {
        body = nil
        self.error = error
        told.open()
    }
}

/// A request that nobody waits for, but that can be taken back.
final class TicketedPerform: AnsweredPerform, @unchecked Sendable {
    // SAFETY: as `AnsweredPerform` says.
    private var body: (@Sendable () -> Void)?

    init(_ body: @escaping @Sendable () -> Void) {
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
}
