// The clients of a command buffer: they learn on which loops and in which modes it can be fired.

internal import RunLoops
internal import Synchronization

extension CommandBuffer {
    /// Names a registered client, for `unregisterClient`.
    public struct ClientID: Hashable, Sendable {
        let number: UInt64
    }

    /// The registered clients, each with the modes of which it was told.
    struct Clients {
        struct Client {
            let id: ClientID
            let scheduled: ClientNotice
            let cancelled: ClientNotice
            /// The modes that it was told of and has not been told to be over.
            var modes: [ThreadRunLoop.Mode] = []
        }

        var all: [Client] = []
        private var lastNumber: UInt64 = 0

        mutating func add(
            _ scheduled: @escaping ClientNotice, _ cancelled: @escaping ClientNotice
        ) -> ClientID {
            lastNumber += 1
            let id = ClientID(number: lastNumber)
            all.append(Client(id: id, scheduled: scheduled, cancelled: cancelled))
            return id
        }

        func index(of id: ClientID) -> Int? { all.firstIndex { $0.id == id } }
    }

    /// Registers a client that learns which loops and modes the buffer enters and leaves.
    ///
    /// If the buffer is in modes already, the client is told of each of them: at once if the caller
    /// is on the loop's thread, else in the loop's next pass. A client is told that a mode was left
    /// only if it was told of that mode before.
    ///
    /// - Parameters:
    ///   - scheduled: called on the loop's thread for each mode that the buffer is in or enters.
    ///   - cancelled: called on the loop's thread for each mode left.
    /// - Returns: the client's name, for `unregisterClient`.
    /// - Thread: any thread.
    /// - Blocks: never.
    /// - Source: Apple, Threading Programming Guide, "Coordinating with the Input Source's
    ///   Clients".
    @discardableResult
    public func registerClient(
        scheduled: @escaping ClientNotice, cancelled: @escaping ClientNotice
    ) -> ClientID {
        let id = clients.withLock { $0.add(scheduled, cancelled) }
        // After the client is in the list: a mode entered from now on tells it by itself.
        if let loop = source.loop {
            loop.onThread { [weak self] in self?.tellPresentModes(of: loop, to: id) }
        }
        return id
    }

    /// Unregisters a client: it learns of nothing any more.
    ///
    /// It is not told that the modes it knows of are over. On the loop's own thread it is not
    /// called after this returns; from another thread, a call under way is not waited for.
    ///
    /// - Returns: whether it was registered.
    /// - Thread: any thread.
    /// - Blocks: never.
    @discardableResult
    public func unregisterClient(_ id: ClientID) -> Bool {
        let removed = clients.withLock { clients in
            clients.index(of: id).map { clients.all.remove(at: $0) }
        }
        // The values that its closures hold are released without the lock.
        return removed != nil
    }

    /// Tells all clients that the buffer has entered a mode; on the loop's thread.
    func tellEntered(_ loop: ThreadRunLoop, _ mode: ThreadRunLoop.Mode) {
        for id in clients.withLock({ $0.all.map(\.id) }) { tell(id, of: mode, loop) }
    }

    /// Tells all clients that the buffer has left a mode; on the loop's thread.
    func tellLeft(_ loop: ThreadRunLoop, _ mode: ThreadRunLoop.Mode) {
        for id in clients.withLock({ $0.all.map(\.id) }) {
            let notice = clients.withLock { clients -> ClientNotice? in
                guard let index = clients.index(of: id),
                    let known = clients.all[index].modes.firstIndex(of: mode)
                else { return nil }
                clients.all[index].modes.remove(at: known)
                return clients.all[index].cancelled
            }
            notice?(self, loop, mode)
        }
    }

    /// Tells a client that registered late where the buffer is; on the loop's thread.
    private func tellPresentModes(of loop: ThreadRunLoop, to id: ClientID) {
        for mode in source.modes where source.loop === loop { tell(id, of: mode, loop) }
    }

    private func tell(_ id: ClientID, of mode: ThreadRunLoop.Mode, _ loop: ThreadRunLoop) {
        let notice = clients.withLock { clients -> ClientNotice? in
            guard let index = clients.index(of: id),
                !clients.all[index].modes.contains(mode)
            else { return nil }
            clients.all[index].modes.append(mode)
            return clients.all[index].scheduled
        }
        notice?(self, loop, mode)
    }
}
