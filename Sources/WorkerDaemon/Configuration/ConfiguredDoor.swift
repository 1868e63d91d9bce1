// The doors that a configuration can have, by their keys.

internal import Kernel

/// A door of the configuration; its name is its key below `listen`.
enum ConfiguredDoor: String, CaseIterable {
    case unix
    case tcp
    case httpUnix = "http.unix"
    case httpTCP = "http.tcp"

    var isTCP: Bool { self == .tcp || self == .httpTCP }

    /// Whether its clients have to authenticate first.
    var asksForPassword: Bool { isTCP }

    var dialect: Dialect { self == .httpUnix || self == .httpTCP ? .requests : .commands }

    /// Where it is; nil if the configuration has no such door.
    func address(in listen: Configuration.Listen) throws(SocketError) -> SocketAddress? {
        switch self {
        case .unix: try Self.unix(listen.unix)
        case .tcp: try Self.tcp(listen.tcp)
        case .httpUnix: try Self.unix(listen.http.unix)
        case .httpTCP: try Self.tcp(listen.http.tcp)
        }
    }

    private static func unix(_ path: String?) throws(SocketError) -> SocketAddress? {
        guard let path else { return nil }
        return .unix(try UnixAddress(path))
    }

    private static func tcp(_ address: Configuration.Address?) throws(SocketError) -> SocketAddress?
    {
        guard let address else { return nil }
        return .tcp(try TCPAddress("\(address)"))
    }

    /// The permissions of its socket's file.
    func mode(in listen: Configuration.Listen) -> UInt32 {
        self == .httpUnix ? listen.http.unixMode : listen.unixMode
    }
}
