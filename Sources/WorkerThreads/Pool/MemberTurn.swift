// The turn of a pool's member in the hands of another thread. Some work is done by another thread
// while the member's thread waits in it. When such work is over, its holder takes the member's
// next work of this kind itself: the member's thread sleeps on, and runs nothing meanwhile. The
// turn is over when the member's next work is of another kind, when its life changes, and after a
// number of items.
//
// A member whose turn is idle is idle on the board. A wake-up of it calls the holder.

internal import Structures
internal import Synchronization

/// Work of a pool that another thread does while the member's thread waits in it.
package protocol DelegatedWork: AnyObject, Sendable {
    /// Waits until the work, and other work that is taken by the turn, is over.
    ///
    /// - Parameter turn: takes the member's next work; nil if the member takes it itself.
    /// - Thread: the member's.
    /// - Blocks: until then.
    func perform(in turn: MemberTurn?)
}

/// The turn of a member, by which another thread takes the member's work.
///
/// - Thread: any thread; one at a time takes work.
package final class MemberTurn: Sendable {
    /// The member's next work.
    package enum Next: Sendable {
        case work(any DelegatedWork)
        /// There is none: `whenWanted` is called when there may be some.
        case nothing
        /// The member takes it itself: its thread is to go on.
        case over
    }

    private struct State {
        /// The work that is being done; nil if the turn is idle.
        var current: DelegatedPerform?
        var isOver = false
        var takenCount = 0
        var whenWanted: (@Sendable () -> Void)?
        var whenOver: (@Sendable () -> Void)?
    }

    /// So much work is taken by one turn: then what else the thread serves gets its turn.
    package static let workCountMax = 256

    private let member: PoolMember
    /// Changed under the board's lock.
    private let state: Mutex<State>

    init(_ member: PoolMember, _ first: DelegatedPerform) {
        self.member = member
        state = Mutex(State(current: first))
    }

    /// Sets the closures that call the holder of the turn.
    ///
    /// - Parameters:
    ///   - wanted: called when there may be work for an idle turn.
    ///   - over: called when an idle turn is over: the member's thread is to go on.
    package func whenCalled(
        wanted: @escaping @Sendable () -> Void, over: @escaping @Sendable () -> Void
    ) {
        state.withLock { ($0.whenWanted, $0.whenOver) = (wanted, over) }
    }

    /// Ends the present work, and takes the next.
    package func next() -> Next { member.next(in: self) }

    /// Whether the member takes its work itself again.
    package var isOver: Bool { state.withLock { $0.isOver } }

    /// Ends it if there is no work: the member's thread goes on.
    package func endIfIdle() { member.endIdleTurn(self) }

    /// Ends it, be it idle or not.
    ///
    /// - Thread: the member's, which goes on.
    package func end() { _ = member.end(self) }

    // MARK: - For the member, under the board's lock

    /// Ends the present work.
    func finish(_ board: inout PoolBoard<PerformRequest>) {
        state.withLock { $0.current.take() }?.unbind(&board)
    }

    func note(_ work: DelegatedPerform) {
        state.withLock {
            $0.current = work
            $0.takenCount += 1
        }
    }

    var isIdle: Bool { state.withLock { $0.current == nil && !$0.isOver } }

    var isExhausted: Bool { state.withLock { $0.takenCount >= Self.workCountMax } }

    /// - Returns: the closure that lets the member's thread go on.
    func noteEnd() -> (@Sendable () -> Void)? {
        state.withLock { state in
            state.isOver = true
            state.whenWanted = nil
            return state.whenOver.take()
        }
    }

    // MARK: - For wakers

    /// Calls the holder.
    ///
    /// - Returns: false if the turn is over.
    func callTaker() -> Bool {
        guard let call = state.withLock({ $0.whenWanted }) else { return false }
        call()
        return true
    }
}

/// A request for delegated work.
final class DelegatedPerform: CancellableRequest, @unchecked Sendable {
    // SAFETY: as `CancellableRequest` says; what it adds never changes.
    let work: any DelegatedWork
    private let queues: PoolQueues
    /// Its key, if it counts as one of its key's.
    private let key: SubmitKey?

    init(_ work: any DelegatedWork, _ queues: PoolQueues, key: SubmitKey? = nil) {
        self.work = work
        self.queues = queues
        self.key = key
        super.init(isArmed: true)
    }

    /// The same with a key, before it is queued.
    func with(_ key: SubmitKey) -> DelegatedPerform { DelegatedPerform(work, queues, key: key) }

    override var isAwaited: Bool { false }

    override func run() {
        guard let turn = WorkerCore.current?.poolMember?.lend(queues, self) else {
            work.perform(in: nil)
            return queues.board.withLock { unbind(&$0) }
        }
        work.perform(in: turn)
        turn.end()
    }

    override func tell(_ error: any Error) {}

    override func refuse(_ error: SubmitError) -> Bool {
        queues.board.withLock { unbind(&$0) }
        return super.refuse(error)
    }

    /// Its key has one item less; called once, when it is over.
    func unbind(_ board: inout PoolBoard<PerformRequest>) {
        if let key { board.unbind(key) }
    }
}

extension PerformRequest {
    /// The request for delegated work, if it is one.
    var delegated: DelegatedPerform? {
        if case .answered(let request) = self { request as? DelegatedPerform } else { nil }
    }
}
