// Whether links from this node to the others work. A link is tried when its node joins, when that
// has told another address, secret or certificate, when a client's link fails, and once a minute.
//
// The log tells of each change once. A link that fails is tried again before anyone is told: a node
// that ends is known for a moment longer than it is reached.

internal import Jobs
internal import RunLoops

/// The state of the links to other nodes.
///
/// Confined to its service's loop.
final class LinkWatch {
    /// The state of the links to a node.
    enum State: Equatable {
        /// None was tried, or the first one has failed once.
        case unknown
        case works
        /// They fail, for this reason.
        case fails(String)
    }

    private struct Entry {
        var node: StoreNode
        var state = State.unknown
        /// How often in a row the link has failed.
        var faultCount = 0
        /// Whether the log has it that the link fails, with the first reason of perhaps many.
        var isInLog = false
        /// When it is tried next.
        var due: Instant
    }

    /// The time until a link is tried again: one that works, that has failed once, or more often.
    static let pauses = (
        works: Duration.seconds(60), doubt: Duration.seconds(2), fails: Duration.seconds(10)
    )
    /// So many faults in a row are told.
    private static let faultCountMin = 2

    private unowned let service: Service
    private var entries: [Int64: Entry] = [:]
    /// The link that is being tried: one at a time, however many nodes there are.
    private(set) var opening: LinkOpening?
    private var timeout: ThreadRunLoop.Timeout?

    init(_ service: Service) { self.service = service }

    private var loop: ThreadRunLoop { service.loop }

    /// The state of the links to a node.
    func state(of node: StoreNode) -> State { entries[node.id]?.state ?? .unknown }

    /// How many nodes are not reached.
    var failingCount: Int {
        entries.values.count { if case .fails = $0.state { true } else { false } }
    }

    /// Nodes have come, gone, or told something else.
    func nodesChanged(_ nodes: [StoreNode]) {
        let numbers = Set(nodes.map(\.id))
        entries = entries.filter { numbers.contains($0.key) }
        for node in nodes {
            guard let entry = entries[node.id] else {
                entries[node.id] = Entry(node: node, due: loop.now)
                continue
            }
            entries[node.id]?.node = node
            guard !entry.node.isReached(as: node) else { continue }
            entries[node.id]?.due = loop.now
            entries[node.id]?.isInLog = false
        }
        tryNext()
    }

    /// A client's link to a node has failed.
    func doubt(_ number: Int64) {
        guard entries[number]?.state == .works, entries[number]?.faultCount == 0 else { return }
        entries[number]?.due = loop.now
        tryNext()
    }

    /// Tries no more links.
    func close() {
        entries = [:]
        opening?.close()
        opening = nil
        endTimeout()
    }

    // MARK: - Tries

    private func tryNext() {
        endTimeout()
        while opening == nil, let next = entries.values.min(by: { $0.due < $1.due }) {
            guard next.due <= loop.now else { return wait(until: next.due) }
            attempt(next.node)
        }
    }

    private func wait(until date: Instant) {
        let watch = Confined(self, to: loop)
        timeout = loop.schedule(at: date) {
            watch.value.timeout = nil
            watch.value.tryNext()
        }
    }

    private func endTimeout() {
        if let timeout { loop.cancel(timeout) }
        timeout = nil
    }

    private func attempt(_ node: StoreNode) {
        do throws(LinkFault) {
            let opening = LinkOpening(
                to: node, at: try LinkTarget(node, service.certificates), as: User.defaultName,
                on: loop, service.handshakes)
            self.opening = opening
            opening.begin { [weak self] result in
                self?.opening = nil
                switch result {
                case .success: self?.note(nil, of: node)
                case .failure(let fault): self?.note(fault, of: node)
                }
                self?.tryNext()
            }
        } catch {
            note(error, of: node)
        }
    }

    /// Notes the outcome of a try.
    private func note(_ fault: LinkFault?, of node: StoreNode) {
        guard var entry = entries[node.id] else { return }
        if let fault {
            entry.faultCount += 1
            let isTold = entry.faultCount >= Self.faultCountMin
            if isTold { noteFault(reason(fault, of: node), &entry) }
            entry.due = loop.now.advanced(by: isTold ? Self.pauses.fails : Self.pauses.doubt)
        } else {
            entry.faultCount = 0
            if case .fails = entry.state {
                service.log.notice("commands are passed on to node \(node.name) again")
            }
            (entry.state, entry.isInLog) = (.works, false)
            entry.due = loop.now.advanced(by: Self.pauses.works)
        }
        // If the node has told something else meanwhile, that is tried at once.
        if !entry.node.isReached(as: node) { entry.due = loop.now }
        entries[node.id] = entry
    }

    private func noteFault(_ reason: String, _ entry: inout Entry) {
        entry.state = .fails(reason)
        guard !entry.isInLog else { return }
        entry.isInLog = true
        service.log.warning(
            "commands are not passed on to node \(entry.node.name): \(reason); until then those "
                + "for its threads, and THREADS, JOBS and TAKE, are BUSY here")
    }

    /// The reason of a fault; a node whose address is another's is told by name.
    private func reason(_ fault: LinkFault, of node: StoreNode) -> String {
        let own = service.configuration.nodeCard
        var names = entries.values.filter {
            $0.node.id != node.id && $0.node.commands == node.commands
        }.map(\.node.name)
        if own.commands?.url == node.commands { names.append(own.name) }
        guard node.commands != nil, let twin = names.min() else { return fault.reason }
        return "\(fault.reason): node \(twin) has told the same address"
    }
}

extension StoreNode {
    /// Whether links reach it in the same way as it was told another time.
    fileprivate func isReached(as other: StoreNode) -> Bool {
        commands == other.commands && linkSecret == other.linkSecret
            && certificate == other.certificate
    }
}
