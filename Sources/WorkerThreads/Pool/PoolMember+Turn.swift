// A member lends its turn to another thread while its own waits in delegated work.

internal import Structures
internal import Synchronization

extension PoolMember {
    /// Lends its turn.
    ///
    /// - Parameter work: what its thread is about to wait in.
    /// - Returns: nil if its thread has to go on by itself after this work.
    /// - Thread: its own.
    func lend(_ queues: PoolQueues, _ work: DelegatedPerform) -> MemberTurn? {
        guard queues === self.queues else { return nil }
        return queues.board.withLock { _ in
            guard !isOut, !isLent.load(ordering: .relaxed), goesOn else { return nil }
            let lent = MemberTurn(self, work)
            turn.withLock { $0 = lent }
            isLent.store(true, ordering: .relaxed)
            return lent
        }
    }

    /// Takes its next work in its place.
    ///
    /// - Thread: any thread; its own waits meanwhile.
    func next(in turn: MemberTurn) -> MemberTurn.Next {
        let (next, admitted) = queues.board.withLock {
            board -> (MemberTurn.Next, [Admission]) in
            turn.finish(&board)
            if turn.isOver { return (.over, []) }
            let next = isOut || !goesOn || turn.isExhausted ? .over : take(in: turn, &board)
            if case .over = next { noteEnd(of: turn) }
            return (next, board.admit(limit: queues.limit))
        }
        if !admitted.isEmpty { tell(admitted) }
        return next
    }

    private func take(
        in turn: MemberTurn, _ board: inout PoolBoard<PerformRequest>
    ) -> MemberTurn.Next {
        while true {
            switch board.next(for: index, if: { $0.delegated != nil }) {
            case .nothing: return .nothing
            case .other: return .over
            case .taken(let request):
                guard let delegated = request.delegated else { return .over }
                // None of those can be cancelled but by its ticket, and then it is not found here.
                guard delegated.begin() else { continue }
                turn.note(delegated)
                return .work(delegated.work)
            }
        }
    }

    /// Whether its thread takes work now, and has nothing else to look at before.
    private var goesOn: Bool {
        !core.isToYield && core.life.withLock { $0.mode == .default }
    }

    /// Ends a turn: its thread takes its work itself.
    ///
    /// - Returns: the closure that lets its thread go on.
    func end(_ turn: MemberTurn) -> (@Sendable () -> Void)? {
        queues.board.withLock { board in
            turn.finish(&board)
            return noteEnd(of: turn)
        }
    }

    /// Ends its turn if that is idle; its thread goes on.
    ///
    /// - Parameter lent: only this one; nil for any.
    /// - Thread: any thread.
    func endIdleTurn(_ lent: MemberTurn? = nil) {
        guard isLent.load(ordering: .relaxed) else { return }
        let goOn = queues.board.withLock { _ -> (@Sendable () -> Void)? in
            guard let turn = turn.withLock({ $0 }), turn.isIdle, lent == nil || lent === turn
            else { return nil }
            return noteEnd(of: turn)
        }
        goOn?()
    }

    /// - Returns: the closure that lets its thread go on.
    @discardableResult
    private func noteEnd(of lent: MemberTurn) -> (@Sendable () -> Void)? {
        turn.withLock { if $0 === lent { $0 = nil } }
        isLent.store(false, ordering: .relaxed)
        return lent.noteEnd()
    }
}
