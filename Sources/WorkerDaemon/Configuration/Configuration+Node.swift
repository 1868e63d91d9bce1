// How other daemons with the same database know and reach this one.

internal import Jobs
internal import Kernel

extension Configuration {
    /// The words about this daemon for others with the same database.
    package struct Node: Sendable, Equatable {
        /// The longest name that the default has.
        fileprivate static let nameByteCountMax = 64

        /// The name for people; nil for that of the machine.
        package var name: String?
        /// Where others reach the door `listen.tcp`; nil for its own address.
        package var address: Address?
        /// Where others reach the door `listen.http.tcp`; nil for its own address.
        package var http: Address?
        /// Whether this daemon and others each have some of the threads; else one has all.
        package var sharesThreads = false

        package init() {}
    }

    /// The card of this daemon.
    var nodeCard: NodeCard {
        var card = NodeCard(
            name: node.name ?? Node.nameOfMachine,
            commands: Node.place(
                node.address, listen.tcp, listen.tls == nil ? "redis" : "rediss"),
            requests: Node.place(node.http, listen.http.tcp, listen.http.scheme))
        if node.sharesThreads { card.threads = threads.flatMap(\.units) }
        return card
    }
}

extension Configuration {
    /// Reports addresses of doors that are not there.
    func checkNode(in section: SectionReader) {
        if node.address != nil, listen.tcp == nil {
            section.report("node", "address is of no use without listen.tcp: add it")
        }
        if node.http != nil, listen.http.tcp == nil {
            section.report("node", "http is of no use without listen.http.tcp: add it")
        }
    }
}

extension Configuration.Node {
    /// The machine's name, in the characters of a name.
    static var nameOfMachine: String {
        let name = String(HostName.own.prefix(nameByteCountMax))
        return NameRule.accepts(name) ? name : "workerd"
    }

    /// Where others reach a door: the address that was named for it, else its own.
    ///
    /// A door at 0.0.0.0 has no address of its own, and a loopback one only serves others on the
    /// same machine.
    fileprivate static func place(
        _ named: Configuration.Address?, _ door: Configuration.Address?, _ scheme: String
    ) -> NodeCard.Place? {
        guard let door else { return nil }
        if let named { return NodeCard.Place(url: "\(scheme)://\(named)", isLocal: false) }
        guard !door.isWildcard else { return nil }
        return NodeCard.Place(url: "\(scheme)://\(door)", isLocal: door.isLoopback)
    }
}

extension Configuration.Node: ConfigurationSection {
    mutating func read(from section: inout SectionReader) {
        section.read("name", into: &name, .nodeName)
        section.read("address", into: &address, .reachableAddress)
        section.read("http", into: &http, .reachableAddress)
        section.read("sharesThreads", into: &sharesThreads, .boolean)
    }
}

extension ValueRule<String> {
    fileprivate static var nodeName: ValueRule {
        .string(such: "jobs-1") { text, place in
            Configuration.isName(text, at: place) ? text : nil
        }
    }
}

extension ValueRule<Configuration.Address> {
    fileprivate static var reachableAddress: ValueRule {
        ValueRule { value, place in
            guard let address = address.read(value, place) else { return nil }
            guard address.isWildcard else { return address }
            place.report("must be an address that other machines connect to, is \(address)")
            return nil
        }
    }
}
