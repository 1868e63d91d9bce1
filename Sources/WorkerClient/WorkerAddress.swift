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
    /// TLS of its connections; nil for plaintext.
    private(set) var tls: ClientTLS?
    /// The user whose password it is.
    private(set) var user = WorkerAddress.defaultUser
    /// Whether the path is one that the library looks at by itself: its directory is checked too.
    var isUsual = false
    /// A user whose server is trusted.
    var trustedUserID: UInt32?

    /// The user of the daemon's `listen.passwordFile`.
    static let defaultUser = "default"

    /// The same, as a user of the daemon's users file.
    ///
    /// - Parameters:
    ///   - user: its name.
    ///   - secret: what `workerctl user add` has printed.
    public func authenticating(as user: String, secret: String) -> WorkerAddress {
        var address = WorkerAddress(door: door, password: Array(secret.utf8))
        (address.isUsual, address.trustedUserID, address.tls) = (isUsual, trustedUserID, tls)
        address.user = user
        return address
    }

    /// A port of a daemon that has `listen.tls`.
    ///
    /// - Parameters:
    ///   - hostAndPort: as for `tcp`; the daemon's certificate has to be for this host, unless
    ///     `tls` names another.
    ///   - password: as for `tcp`.
    ///   - tls: whom the client trusts, and its own certificate.
    public static func tls(
        _ hostAndPort: String, password: String?, _ tls: ClientTLS = ClientTLS()
    ) -> WorkerAddress {
        var address = WorkerAddress.tcp(hostAndPort, password: password)
        address.tls = tls
        return address
    }

    /// The host without brackets and port; empty for a path.
    var host: String {
        guard case .tcp(let hostAndPort) = door else { return "" }
        let host = hostAndPort[..<(hostAndPort.lastIndex(of: ":") ?? hostAndPort.endIndex)]
        return String(host.hasPrefix("[") ? host.dropFirst().dropLast() : host)
    }

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
    ///   - password: what the daemon's `listen.passwordFile` says; nil to be told that it is
    ///     needed.
    public static func tcp(_ hostAndPort: String, password: String?) -> WorkerAddress {
        WorkerAddress(
            door: .tcp(hostAndPort: hostAndPort), password: password.map { Array($0.utf8) })
    }

    /// The usual socket of a daemon: `$WORKERD_SOCKET`, else the first one that exists of
    /// `/run/workerd/workerd.sock`, `$XDG_RUNTIME_DIR/workerd/workerd.sock` and
    /// `$HOME/.workerd/run/workerd.sock`.
    ///
    /// - Returns: the first of these if none exists, so that the error names it.
    /// - Blocks: for the disk.
    public static func standard() -> WorkerAddress {
        let environment = Program.inheritedEnvironment()
        if let named = environment["WORKERD_SOCKET"], !named.isEmpty { return .unix(named) }
        var usual = ["/run/workerd/workerd.sock"]
        for (name, directory) in [("XDG_RUNTIME_DIR", "workerd"), ("HOME", ".workerd/run")] {
            guard let parent = environment[name], parent.hasPrefix("/") else { continue }
            usual.append("\(parent)/\(directory)/workerd.sock")
        }
        let found = usual.first { (try? File.kind(of: $0)) == .socket }
        var address = WorkerAddress.unix(found ?? usual[0])
        address.isUsual = true
        return address
    }

    /// The path, `host:port`, or `tls://host:port`; never the password.
    public var description: String {
        switch door {
        case .unix(let path): path
        case .tcp(let hostAndPort): tls == nil ? hostAndPort : "tls://\(hostAndPort)"
        }
    }

    /// The fault of an address that is wrong as a text; nil if there is none.
    package var fault: String? {
        do throws(SocketError) {
            _ = try resolved()
            return nil
        } catch {
            return error.description
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
