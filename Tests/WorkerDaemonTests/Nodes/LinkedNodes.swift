// Nodes that work at the same time, in one process: services with doors of their own on one thread,
// on a clock that is moved by hand, and a map of owners that the test sets. No database.

import Jobs
import Kernel
import RESP
import RunLoops
import RunLoopsTesting
import Support
import Synchronization
import Testing
import WorkerThreads

@testable import WorkerDaemon

/// The owners of threads as one node knows them.
///
/// Confined to the nodes' thread.
final class TestOwners: ThreadOwners {
    let linkSecret: String
    var isLinkSecretKnown = true
    var others: [StoreNode] = []
    var missing: [StoreNode] = []
    var known: KnownThreads { KnownThreads(Set(owners.keys)) }
    var forsakenJobCounts: [String: Int] = [:]
    let wanted: [String] = []
    var given: Set<String> = []
    var recentGivers: [Int64: Instant] = [:]
    var whenChanged: (() -> Void)?
    var whenLooked: (() -> Void)?
    var whenWishChanged: (() -> Void)?
    /// The owners by the names of groups; a thread that is not in it has none.
    var owners: [String: ThreadOwner] = [:]
    /// Finds the thread of a job among all nodes.
    var find: (JobID) -> Result<String?, StoreFault> = { _ in .success(nil) }
    /// How often the store was asked for the thread of a job.
    var lookupCount = 0
    private let loop: ThreadRunLoop

    init(secret: String, on loop: ThreadRunLoop) {
        linkSecret = secret
        self.loop = loop
    }

    var open: Set<String> { Set(owners.filter { $0.value == .here }.keys) }

    func hasJustGiven(_ unit: String) -> Bool { given.contains(unit) }

    func owner(of group: String) -> ThreadOwner { owners[group] ?? .nobody }

    func close() {}

    func findThread(of id: JobID, answer: @escaping (Result<String?, StoreFault>) -> Void) {
        lookupCount += 1
        let confined = Confined((find, answer), to: loop)
        loop.perform { confined.value.1(confined.value.0(id)) }
    }
}

/// A log whose warnings and notices can be read.
final class KeptLog: Sendable {
    private final class Lines: Sendable {
        let text = Mutex("")
    }

    private let lines = Lines()
    let log: Log

    init() {
        log = Log(level: .notice, isForJournal: true) { [lines] line in
            lines.text.withLock { $0 += String(decoding: line, as: UTF8.self) }
        }
    }

    /// The lines with a text, in order.
    func lines(with text: String) -> [String] {
        lines.text.withLock { $0 }.split(separator: "\n").map(String.init).filter {
            $0.contains(text)
        }
    }
}

/// TLS of the nodes' doors.
enum NodeTLS {
    case none
    /// - Parameter requiresClient: the authority of clients; nil if these need no certificate.
    case door(_ issued: TestAuthority.Issued? = nil, requiresClient: TestAuthority? = nil)
}

extension NodeTLS {
    /// The part of a configuration, behind `listen`'s other ones.
    fileprivate func setting(in scratch: Scratch) throws -> String {
        guard case .door(let issued, let authority) = self else { return "" }
        let more = authority.map { "clients: \"\($0.certificate)\", requireClient: true" } ?? ""
        return ", \(try TestAuthority.door(in: scratch, issued, more: more))"
    }
}

/// Services that pass commands on to each other: `a`, `b` and so on.
final class LinkedNodes {
    /// A node on the nodes' thread.
    fileprivate struct Node {
        let service: Service
        let owners: TestOwners
        let groups: [WorkerGroup]
        var own: StoreNode
    }

    /// All nodes, on their thread.
    fileprivate final class Room {
        var nodes: [Node] = []
    }

    static let names = ["a", "b", "c"]
    let clock = ManualClock()
    /// Lets the jobs of selector `hold` end, once it is open.
    let gate = Latch()
    private let store: (any JobStore)?
    private let io: WorkerThread
    private let room: Confined<Room>
    private let scratches: [Scratch]
    /// The log of all nodes.
    let log = KeptLog()

    /// - Parameters:
    ///   - count: how many nodes.
    ///   - limits: the limits of each node; none for the usual ones.
    ///   - users: the users of each node's users file; none without a file.
    ///   - tls: TLS of each node's door.
    ///   - watches: whether the nodes look after their links.
    ///   - store: the store of the first node; nil for one that keeps nothing.
    init(
        _ count: Int = 2, limits: [String] = [], users: [[User]?] = [], http: Bool = false,
        tls: [NodeTLS] = [], watches: Bool = false, store: (any JobStore)? = nil
    ) throws {
        self.store = store
        io = try WorkerThread(name: "io", poller: SystemPoller(clock: clock))
        room = try io.submitAndWait { @Sendable in
            Confined(Room(), to: ThreadRunLoop.current)
        }
        scratches = try (0..<count).map { _ in try Scratch() }
        for index in 0..<count {
            try add(
                index, limits: index < limits.count ? limits[index] : "",
                users: index < users.count ? users[index] : nil, http: http,
                tls: index < tls.count ? tls[index] : .none)
        }
        if watches { try watch() }
        try own(["one": 0, "two": 1, "pool": 0])
    }

    private func add(
        _ index: Int, limits: String, users: [User]?, http: Bool, tls: NodeTLS
    ) throws {
        let scratch = scratches[index]
        let door = try freeLoopbackAddress()
        let web = http ? ", http: { unix: \"$DIR/http\" }" : ""
        let setup = Setup(
            threads: "one: {}, two: {}, pool: { count: 2 }",
            selectors: "turn: { worker: true }", limits: limits,
            listen: try scratch.passwordDoor(at: door.text, password: "open sesame") + web
                + tls.setting(in: scratch),
            store: Setup.memory, more: "node: { name: \"\(Self.names[index])\" },")
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        let daemon = try Daemon(configurationFile: scratch.file("workerd.json5"))
        let gate = gate
        daemon.register("hold") { job in
            gate.wait()
            return job.text
        }
        let (configuration, handlers) = (daemon.configuration, daemon.handlers)
        let (room, clock, log, store) = (room, clock, log, store)
        let clocks = Clocks(loop: clock, wall: WallTime(on: clock, from: 1_800_000_000_000))
        try io.submitAndWait { @Sendable in
            let loop = ThreadRunLoop.current
            let groups = try configuration.threads.map { try WorkerGroup($0, clocks) }
            let service = try Service.assemble(
                configuration, handlers, groups, (index == 0 ? store : nil) ?? NoStore(),
                nextNumber: UInt64(1 + index * 1_000_000),
                children: ChildRegistry(of: "linked", configuration.limits),
                users: UserBook(users: users, password: Array("open sesame".utf8)),
                clocks: clocks, log: log.log, shutdownAsked: { _ in })
            service.driver.restore(StoreRecovery())
            service.isStarted = true
            try service.openDoors(
                configuration.listen, try DoorCertificates(configuration.listen, log.log))
            let owners = TestOwners(secret: "secret of \(index)", on: loop)
            let nodes = Confined(room.value, to: loop)
            owners.find = { id in
                for node in nodes.value.nodes {
                    if let job = node.service.driver.scheduler.book.job(id) {
                        return .success(job.thread)
                    }
                }
                return .success(nil)
            }
            service.owners = owners
            let scheme = service.certificates.ofNode == nil ? "redis" : "rediss"
            var own = StoreNode(
                id: Int64(index), name: Self.names[index], commands: "\(scheme)://\(door.text)",
                requests: "http://10.0.0.\(index):7712", startedAt: 0, serves: true,
                linkSecret: owners.linkSecret)
            own.certificate = service.certificates.ofNode
            room.value.nodes.append(
                Node(service: service, owners: owners, groups: groups, own: own))
            Self.introduce(room.value)
        }
    }

    private static func introduce(_ room: Room) {
        for node in room.nodes {
            node.owners.others = room.nodes.map(\.own).filter { $0.id != node.own.id }
        }
    }

    /// Gives threads to nodes; to none with nil.
    ///
    /// - Parameter seenBy: the nodes that hear of it; nil for all.
    func own(_ threads: [String: Int?], seenBy: [Int]? = nil) throws {
        try change { nodes, index in
            if let seenBy, !seenBy.contains(index) { return }
            for (thread, owner) in threads {
                nodes[index].owners.owners[thread] =
                    owner.map { $0 == index ? .here : .node(nodes[$0].own) } ?? .nobody
            }
        }
    }

    /// A node has given a thread to another one; only some nodes know of that.
    func give(_ thread: String, from index: Int, to other: Int, seenBy: [Int]) throws {
        try own([thread: other], seenBy: seenBy)
        try change { nodes, present in
            guard seenBy.contains(present) else { return }
            if present == index {
                nodes[present].owners.given.insert(thread)
            } else {
                let end = nodes[present].service.loop.now.advanced(by: .seconds(3))
                nodes[present].owners.recentGivers[nodes[index].own.id] = end
            }
        }
    }

    /// Has all nodes know a node otherwise than it is.
    func describe(_ index: Int, _ body: @escaping @Sendable (inout StoreNode) -> Void) throws {
        let (room, number) = (room, Int64(index))
        try io.submitAndWait { @Sendable in
            body(&room.value.nodes[index].own)
            Self.introduce(room.value)
            let own = room.value.nodes[index].own
            for node in room.value.nodes {
                node.owners.owners = node.owners.owners.mapValues { owner in
                    if case .node(let node) = owner, node.id == number { return .node(own) }
                    return owner
                }
            }
        }
    }

    /// Has a node be one that started a moment ago, or some time ago.
    func setStarted(_ index: Int, aMomentAgo isNew: Bool) throws {
        try change { nodes, present in
            if present == index { nodes[present].owners.isLinkSecretKnown = !isNew }
        }
    }

    /// Has all nodes forget a node, as after its end.
    ///
    /// - Parameter isMissing: whether it may soon work again.
    func forget(_ index: Int, isMissing: Bool = false) throws {
        try change { nodes, other in
            guard other != index else { return }
            nodes[other].owners.others.removeAll { $0.id == Int64(index) }
            nodes[other].owners.missing = isMissing ? [nodes[index].own] : []
        }
    }

    /// A node that was missing works again.
    func remember(_ index: Int) throws {
        try change { nodes, other in
            guard other != index else { return }
            nodes[other].owners.others.append(nodes[index].own)
            nodes[other].owners.missing = []
        }
    }

    private func change(_ body: @escaping @Sendable ([Node], Int) -> Void) throws {
        let room = room
        try io.submitAndWait { @Sendable in
            let nodes = room.value.nodes
            for index in nodes.indices { body(nodes, index) }
            for node in nodes {
                node.owners.whenChanged?()
                node.owners.whenLooked?()
            }
        }
    }

    /// Has a node's store find the threads of jobs in another way.
    func find(
        at index: Int, _ body: @escaping @Sendable (JobID) -> Result<String?, StoreFault>
    ) throws {
        let room = room
        try io.submitAndWait { @Sendable in room.value.nodes[index].owners.find = body }
    }

    /// A client of a node's Unix socket.
    func connect(_ index: Int) throws -> TestClient {
        try TestClient(.unix(UnixAddress(scratches[index].file("s"))))
    }

    /// A client of a node's Unix socket that speaks HTTP.
    func connectHTTP(_ index: Int) throws -> HTTPTestClient {
        try HTTPTestClient(.unix(UnixAddress(scratches[index].file("http"))))
    }

    /// Gives all clients of a node the rights of a user of its users file.
    func become(_ name: String, _ index: Int) throws {
        let room = room
        try io.submitAndWait { @Sendable in
            let service = room.value.nodes[index].service
            guard let user = service.users.users?[name] else { return }
            for session in service.sessions.values { session.authenticate(as: user) }
        }
    }

    /// The address of a node's door for other nodes.
    func address(_ index: Int) throws -> SocketAddress {
        let room = room
        let url = try io.submitAndWait { @Sendable in room.value.nodes[index].own.commands ?? "" }
        return .tcp(try TCPAddress(String(url.drop { $0 != "/" }.dropFirst(2))))
    }

    /// A figure of a node's service.
    func figure(_ index: Int, _ body: @escaping @Sendable (Service) -> Int) throws -> Int {
        let room = room
        return try io.submitAndWait { @Sendable in body(room.value.nodes[index].service) }
    }

    /// How often a node has asked its store for the thread of a job.
    func lookupCount(_ index: Int) throws -> Int {
        let room = room
        return try io.submitAndWait { @Sendable in room.value.nodes[index].owners.lookupCount }
    }

    /// How many jobs a node was handed.
    func jobCount(_ index: Int) throws -> Int {
        try figure(index) { Int($0.driver.scheduler.book.nextNumber) } - 1 - index * 1_000_000
    }

    /// How many clients and links a node has.
    func sessionCount(_ index: Int) throws -> Int { try figure(index) { $0.sessions.count } }

    /// Ends all links that have come to a node and have brought a command.
    func breakLinks(to index: Int) throws {
        let room = room
        try io.submitAndWait { @Sendable in
            for session in Array(room.value.nodes[index].service.sessions.values)
            where session.isLink && session.commandCount > 1 {
                session.close("the test breaks it")
            }
        }
    }

    /// Has the nodes look after their links.
    private func watch() throws {
        try change { nodes, index in
            nodes[index].service.linkWatch = LinkWatch(nodes[index].service)
        }
    }

    /// Whether a node tries a link.
    func areLinksTried() throws -> Bool {
        let room = room
        return try io.submitAndWait { @Sendable in
            room.value.nodes.contains { $0.service.linkWatch?.opening != nil }
        }
    }

    /// The state of a node's links to another one.
    func linkState(_ index: Int, to other: Int) throws -> LinkWatch.State? {
        let room = room
        return try io.submitAndWait { @Sendable in
            let nodes = room.value.nodes
            return nodes[index].service.linkWatch?.state(of: nodes[other].own)
        }
    }

    /// Ends a node's doors: no link comes in any more.
    func closeDoors(_ index: Int) throws {
        let room = room
        try io.submitAndWait { @Sendable in room.value.nodes[index].service.closeDoors() }
    }

    /// Opens the doors of a node again.
    func openDoors(_ index: Int) throws {
        let (room, log) = (room, log)
        try io.submitAndWait { @Sendable in
            let service = room.value.nodes[index].service
            let listen = service.configuration.listen
            try service.openDoors(listen, try DoorCertificates(listen, log.log))
        }
    }

    /// The address of a node's TCP door, whatever it has told.
    func door(_ index: Int) throws -> String {
        let room = room
        return try io.submitAndWait { @Sendable in
            room.value.nodes[index].service.configuration.listen.tcp.map { "\($0)" } ?? ""
        }
    }

    /// The certificate of a node's door.
    func certificate(_ index: Int) throws -> NodeCertificate? {
        let room = room
        return try io.submitAndWait { @Sendable in
            room.value.nodes[index].service.certificates.ofNode
        }
    }

    /// Lets time pass.
    func advance(by duration: Duration) { clock.advance(by: duration) }

    /// Ends everything.
    func close() {
        gate.open()
        let room = room
        try? io.submitAndWait { @Sendable in
            for node in room.value.nodes {
                node.service.closeDoors()
                node.service.dropSessions()
            }
        }
        let groups =
            (try? io.submitAndWait { @Sendable in room.value.nodes.flatMap(\.groups) }) ?? []
        for group in groups {
            group.pool.stop(.finishCurrent)
            group.pool.join()
        }
        try? io.submitAndWait { @Sendable in
            for node in room.value.nodes { node.service.close() }
            room.value.nodes.removeAll()
        }
        io.stop()
        io.join()
    }
}

/// Runs a test with nodes that work at the same time.
func withLinkedNodes(
    _ count: Int = 2, limits: [String] = [], users: [[User]?] = [], http: Bool = false,
    tls: [NodeTLS] = [], watches: Bool = false, store: (any JobStore)? = nil,
    _ body: (LinkedNodes) throws -> Void
) throws {
    let nodes = try LinkedNodes(
        count, limits: limits, users: users, http: http, tls: tls, watches: watches, store: store)
    defer { nodes.close() }
    try body(nodes)
}
