// Faults of an address, a socket file or a connection, in words that say what to do.

/// A socket that could not be made, found or reached.
package enum SocketError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kernel said no.
    case system(SystemError)
    /// A living server has the address: a path, or `host:port`.
    case inUse(String)
    /// The path is taken by something that is no socket; it was left as it is.
    case notASocket(path: String)
    /// Another program holds the lock on the directory in which the socket is to be made.
    case directoryBusy(String)
    /// The path of a socket is longer than the kernel's address has room for.
    case pathTooLong(path: String, byteCount: Int, byteCountMax: Int)
    /// The text is no address.
    case badAddress(text: String, reason: String)

    /// One sentence for people.
    package var description: String {
        switch self {
        case .system(let error): return error.description
        case .inUse(let address):
            return "\(address): a server is listening there already; stop it or choose another"
        case .notASocket(let path):
            return "\(path): exists and is no socket; remove it or choose another path"
        case .directoryBusy(let path):
            return "\(path): another program holds the lock on this directory; try again"
        case .pathTooLong(let path, let byteCount, let byteCountMax):
            return "\(path): the path of a socket has at most \(byteCountMax) bytes, "
                + "this one has \(byteCount)"
        case .badAddress(let text, let reason):
            return "\"\(text)\": \(reason)"
        }
    }
}

/// Runs system calls and turns what they throw into a `SocketError`.
func asSocketError<Result: ~Copyable>(
    _ body: () throws(SystemError) -> Result
) throws(SocketError) -> Result {
    do throws(SystemError) {
        return try body()
    } catch {
        throw .system(error)
    }
}
