// The doors that a configuration can have, by their keys.

internal import Kernel

/// A door of the configuration; its name is its key below `listen`.
enum ConfiguredDoor: String, CaseIterable {
    case unix
    case tcp
    case httpUnix = "http.unix"
    case httpTCP = "http.tcp"

    var isTCP: Bool { self == .tcp || self == .httpTCP }

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

    /// The door itself; nil if the configuration has no such door.
    func setting(in listen: Configuration.Listen) -> DoorSetting? {
        func unix(_ path: String?, _ mode: UInt32) -> DoorSetting? {
            path.map { DoorSetting(place: .unix($0), dialect: dialect, mode: mode) }
        }
        func tcp(_ address: Configuration.Address?) -> DoorSetting? {
            address.map { DoorSetting(place: .tcp($0), dialect: dialect, mode: 0) }
        }
        return switch self {
        case .unix: unix(listen.unix, listen.unixMode)
        case .tcp: tcp(listen.tcp)
        case .httpUnix: unix(listen.http.unix, listen.http.unixMode)
        case .httpTCP: tcp(listen.http.tcp)
        }
    }
}
