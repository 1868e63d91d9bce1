// The hosts of an address, which are tried one after another. libpq would do that too, but it waits
// for a machine that has died until the kernel gives up, always begins with the first host, and
// can't leave out a primary that is older than one seen before.

internal import CPostgreSQL
internal import Kernel

/// A host that an address names.
struct ServerHost: Hashable {
    /// A name, a numeric address, or the directory of a Unix socket; nil if libpq is to choose.
    var name: String?
    /// Its numeric address, if the address of the database has that as well.
    var address: String?
    var port: String?

    /// For people.
    var shown: String {
        guard let name = name ?? address else { return "the server" }
        return port.map { "\(name):\($0)" } ?? name
    }

    /// Whether its name has to be looked up.
    var isLookedUp: Bool {
        guard let name, address == nil else { return false }
        return !name.isEmpty && !name.hasPrefix("/") && !name.hasPrefix("@")
    }
}

/// The hosts of a database, of which one is the present one.
///
/// - Thread: one at a time.
struct ServerHosts {
    /// How long one host of several may take.
    private static let limitOfSeveral = Duration.seconds(2)

    private let address: ServerAddress
    private let all: [ServerHost]
    private var place = 0
    /// Look-ups that take long go on: a host is looked up once at a time.
    private var lookups: [String: HostLookup] = [:]
    /// How many hosts did not serve: the servers behind one name take turns.
    private var advanceCount = 0

    init(of address: ServerAddress) {
        self.address = address
        let found = Self.read(address.text)
        all = found.isEmpty ? [ServerHost()] : found
    }

    var count: Int { all.count }

    /// The host that is tried next, or has been connected to.
    var present: ServerHost { all[place] }

    /// Goes on to the next host; the first one follows the last one.
    mutating func advance() {
        place = (place + 1) % all.count
        advanceCount += 1
    }

    /// Begins to connect to the present host.
    ///
    /// - Throws: why it can't.
    /// - Blocks: never.
    mutating func connect() throws(ServerError) -> ServerConnecting {
        let host = present
        let lookup = try lookup(of: host)
        return ServerConnecting(
            to: address, at: host, lookup, beginningAt: advanceCount / all.count,
            limit: all.count > 1 ? Self.limitOfSeveral : ServerConnecting.limit)
    }

    private mutating func lookup(of host: ServerHost) throws(ServerError) -> HostLookup? {
        guard let name = host.name, host.isLookedUp else { return nil }
        if let earlier = lookups[name], !earlier.isOver { return earlier }
        do throws(SystemError) {
            let lookup = try HostLookup(name)
            lookups[name] = lookup
            return lookup
        } catch {
            throw ServerError(code: "", message: "\(error)")
        }
    }

    /// The hosts in an address, as libpq reads it.
    ///
    /// - Returns: none if it names none, or can't be read: libpq says why when it connects.
    private static func read(_ text: String) -> [ServerHost] {
        guard let options = unsafe PQconninfoParse(text, nil) else { return [] }
        defer { unsafe PQconninfoFree(options) }
        var values: [String: [String]] = [:]
        var next = unsafe options
        while let keyword = unsafe next.pointee.keyword {
            if let value = unsafe next.pointee.val {
                unsafe values[String(cString: keyword)] = unsafe String(cString: value)
                    .split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            }
            unsafe next += 1
        }
        let (names, addresses) = (values["host"] ?? [], values["hostaddr"] ?? [])
        let ports = values["port"] ?? []
        let count = max(names.count, addresses.count)
        // libpq takes other lists by itself, or says why it refuses them.
        guard [0, count].contains(names.count), [0, count].contains(addresses.count),
            [0, 1, count].contains(ports.count), !(names + addresses).contains("")
        else { return [] }
        return (0..<count).map { place in
            let port = ports.isEmpty ? nil : ports[ports.count == 1 ? 0 : place]
            return ServerHost(
                name: names.isEmpty ? nil : names[place],
                address: addresses.isEmpty ? nil : addresses[place],
                port: port == "" ? Self.defaultPort : port)
        }
    }

    /// The port of a host without one beside others that have one.
    private static let defaultPort = "5432"
}
