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
        // One question at a time: each is a turn of the store.
        service.askForState(session, reply) {
            confined.value.driver.store.askForNodes { result in
                loop.perform {
                    let service = confined.value
                    service.answer(reply, answer(result, service))
                    service.endState(reply)
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
            return .array(nodes.all.map { describe($0, nodes, isTrusted: isTrusted) })
        case .success(nil): return .array([describeOnly(service)])
        case .failure(let fault): return WireError(.busy, "\(fault)").reply
        }
    }

    private static func describe(
        _ node: StoreNode, _ nodes: StoreNodes, isTrusted: Bool
    ) -> RESPValue {
        .map([
            entry("name", text(node.name)),
            entry("state", text(node.serves ? "serves" : "waits")),
            entry("since", .integer(Int(node.serves ? nodes.seatTakenAt : node.startedAt))),
            entry("trusted", node.serves ? .boolean(isTrusted) : .null),
            entry("epoch", node.serves ? .integer(Int(nodes.epoch)) : .null),
            entry("address", node.commands.map { text($0) } ?? .null),
            entry("http", node.requests.map { text($0) } ?? .null),
        ])
    }

    /// The daemon whose store no other one can have.
    private static func describeOnly(_ service: Service) -> RESPValue {
        let card = service.configuration.nodeCard
        return .map([
            entry("name", text(card.name)), entry("state", text("serves")),
            entry("since", .integer(Int(service.driver.startedAt))),
            entry("trusted", .boolean(true)), entry("epoch", .null),
            entry("address", card.commands.map { text($0.url) } ?? .null),
            entry("http", card.requests.map { text($0.url) } ?? .null),
        ])
    }
}
