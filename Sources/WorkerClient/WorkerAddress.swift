// Where a daemon listens, as a user of the library says it.

internal import Kernel

/// The address of a daemon.
public struct WorkerAddress: Sendable, Hashable, CustomStringConvertible {
    enum Door: Sendable, Hashable {
        case unix(path: String)
        case tcp(hostAndPort: String)
    }

    let door: Door
    let password: [UInt8]?

    /// The socket of a daemon on this machine.
    ///
    /// - Parameter path: at most 107 bytes.
    public static func unix(_ path: String) -> WorkerAddress {
        WorkerAddress(door: .unix(path: path), password: nil)
    }

    /// A port of a daemon.
    ///
    /// - Parameters:
    ///   - hostAndPort: a numeric address, such as `127.0.0.1:7711` or `[::1]:7711`, or
    ///     `localhost:7711`; other names are not looked up.
    ///   - password: what the daemon's `listen.passwordFile` says; nil to be told that it is needed.
    public static func tcp(_ hostAndPort: String, password: String?) -> WorkerAddress {
        WorkerAddress(
            door: .tcp(hostAndPort: hostAndPort), password: password.map { Array($0.utf8) })
    }

    /// Where a daemon usually is: `$WORKERD_SOCKET`, else `/tmp/workerd.sock` or
    /// `/run/workerd/workerd.sock`, whichever exists.
    ///
    /// - Returns: the first of the two if neither exists, so that the error names it.
    /// - Blocks: for the disk.
    public static func standard() -> WorkerAddress {
        let named = Program.inheritedEnvironment()["WORKERD_SOCKET"] ?? ""
        if !named.isEmpty { return .unix(named) }
        let usual = ["/tmp/workerd.sock", "/run/workerd/workerd.sock"]
        let found = usual.first { (try? File.kind(of: $0)) == .socket }
        return .unix(found ?? usual[0])
    }

    /// The path, or `host:port`; never the password.
    public var description: String {
        switch door {
        case .unix(let path): path
        case .tcp(let hostAndPort): hostAndPort
        }
    }

    /// The same as the kernel takes it.
    func resolved() throws(SocketError) -> SocketAddress {
        switch door {
        case .unix(let path): return .unix(try UnixAddress(path))
        case .tcp(let hostAndPort):
            let name = "localhost:"
            let text =
                hostAndPort.hasPrefix(name)
                ? "127.0.0.1:" + hostAndPort.dropFirst(name.count) : hostAndPort
            return .tcp(try TCPAddress(text))
        }
    }
}
