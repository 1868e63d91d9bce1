// One perform request, whatever it is that waits: it is run once or refused once.

internal import RunLoops

/// One request: a closure, and its sender's way to learn that it never runs.
@usableFromInline
enum PerformRequest: @unchecked Sendable {
    // SAFETY: a plain closure is one that its sender has handed over (`sending`) or that any thread
    // may call; it is called once, by the thread that has taken the request.
    case plain(() -> Void)
    case answered(CancellableRequest)

    /// Runs it; on the thread that it is for.
    func perform() {
        switch self {
        case .plain(let body): body()
        case .answered(let answered): answered.perform()
        }
    }

    /// Tells its sender, if there is one, that it will not run.
    ///
    /// - Returns: false when it has been cancelled before.
    @discardableResult
    func refuse(_ error: SubmitError) -> Bool {
        switch self {
        case .plain: true
        case .answered(let answered): answered.refuse(error)
        }
    }

    /// Whether it is certain what becomes of it: for one that waits still, that it was cancelled.
    var isDecided: Bool {
        switch self {
        case .plain: false
        case .answered(let answered): answered.isDecided
        }
    }

    /// Whether its sender waits until it has run or was refused.
    var isAwaited: Bool {
        switch self {
        case .plain: false
        case .answered(let answered): answered.isAwaited
        }
    }
}

/// A request with a note of where it was posted; there only while its thread is measured.
///
/// Whether it was cancelled meanwhile is for the request in it to say. No case of its own: a third
/// one would cost every request a few instructions.
final class NotedPerform: CancellableRequest, @unchecked Sendable {
    // SAFETY: as `CancellableRequest` says; what it adds never changes.
    private let request: PerformRequest
    private let posted: Posted

    init(_ request: consuming PerformRequest, posted: Posted) {
        self.request = request
        self.posted = posted
        super.init(isArmed: true)
    }

    override var isAwaited: Bool { request.isAwaited }

    override var isDecided: Bool { request.isDecided }

    override func run() {
        // Nothing begins of one that was cancelled.
        guard !request.isDecided else { return }
        ThreadRunLoop.current.callingMeasured(.perform, posted) { request.perform() }
    }

    override func refuse(_ error: SubmitError) -> Bool { request.refuse(error) }
}

extension Sequence<PerformRequest> {
    /// Refuses requests that will never run because their thread ends.
    ///
    /// - Returns: how many there were; those that were cancelled before do not count.
    func refuseAll(_ error: SubmitError) -> Int {
        reduce(into: 0) { count, request in if request.refuse(error) { count += 1 } }
    }
}
