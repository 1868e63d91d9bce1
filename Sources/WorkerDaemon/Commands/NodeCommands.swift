// The command that shows the daemons with one store.

internal import Jobs
internal import RESP
internal import RunLoops

enum NodeCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "nodes", 1...1, .server, .observe, usage: "",
            "Lists the daemons that share the store: which one serves, and which wait.",
            execute: nodes)
    ]

    private static func nodes(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let reply = session.reserve()
        let (loop, confined) = (service.loop, Confined(service, to: service.loop))
        // A turn of the store, as a lookup takes it: answers from memory do not wait for it.
        service.ask(.lookup, byteCount: Service.descriptionByteCount, session, reply) {
            confined.value.driver.store.askForNodes { result in
                loop.perform {
                    let service = confined.value
                    service.answer(reply, answer(result, service))
                    service.openAnswers[reply] = nil
                }
            }
        }
        return nil
    }

    private static func answer(
        _ result: Result<StoreNodes?, StoreFault>, _ service: Service
    ) -> RESPValue {
        switch result {
        case .success(let nodes?):
            let isTrusted = service.driver.store.isTrusted
            if let places = nodes.places, let own = service.driver.store.sharedSeat {
                return .array(
                    nodes.all.map { node in
                        let isOwn = node.seat == own
                        return describe(
                            node, places, isTrusted: isOwn ? isTrusted : nil,
                            isOwn ? nil : service.linkWatch?.state(of: node))
                    })
            }
            return .array(
                nodes.all.map { node in
                    node.serves
                        ? describe(
                            node, since: nodes.seatTakenAt, epoch: nodes.epoch,
                            isTrusted: isTrusted)
                        : describe(node, since: node.startedAt, epoch: nil, isTrusted: nil)
                })
        // No other daemon can have the store.
        case .success(nil):
            let card = service.configuration.nodeCard
            let startedAt = service.driver.startedAt
            let node = StoreNode(
                id: 0, name: card.name, commands: card.commands?.url, requests: card.requests?.url,
                startedAt: startedAt, serves: true)
            return .array([describe(node, since: startedAt, epoch: nil, isTrusted: true)])
        case .failure(let fault): return WireError(.busy, "\(fault)").reply
        }
    }

    /// A node that shares the threads with others.
    private static func describe(
        _ node: StoreNode, _ places: ThreadPlaces, isTrusted: Bool?, _ link: LinkWatch.State?
    ) -> RESPValue {
        let units = places.threads.filter { $0.value.seat == node.seat }.map(\.key)
        let names = SpreadPools(of: places.threads.keys).summary(of: units)
        return .map(
            entries(of: node, since: node.startedAt, epoch: nil, isTrusted: isTrusted) + [
                entry("threads", .array(names.map { text($0) })), entry("link", describe(link)),
            ])
    }

    private static func describe(_ link: LinkWatch.State?) -> RESPValue {
        switch link {
        case .unknown, nil: .null
        case .works: text("ok")
        case .fails(let reason): text(reason)
        }
    }

    private static func describe(
        _ node: StoreNode, since: Int64, epoch: Int64?, isTrusted: Bool?
    ) -> RESPValue {
        .map(entries(of: node, since: since, epoch: epoch, isTrusted: isTrusted))
    }

    private static func entries(
        of node: StoreNode, since: Int64, epoch: Int64?, isTrusted: Bool?
    ) -> [RESPValue.Entry] {
        [
            entry("name", text(node.name)),
            entry("state", text(node.serves ? "serves" : "waits")),
            entry("since", .integer(Int(since))),
            entry("trusted", isTrusted.map { .boolean($0) } ?? .null),
            entry("epoch", epoch.map { .integer(Int($0)) } ?? .null),
            entry("address", node.commands.map { text($0) } ?? .null),
            entry("http", node.requests.map { text($0) } ?? .null),
        ]
    }
}
