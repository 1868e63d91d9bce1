// The newest server that this daemon has seen, in a file of this machine. After a promotion the old
// primary may come back: a daemon that was started anew must not take it for the present one.

internal import Jobs
internal import Kernel

/// A database cluster at one point of its history.
///
/// - Source: www.postgresql.org/docs/15/continuous-archiving.html, "Timelines".
struct ServerTimeline: Equatable {
    /// The identifier that a cluster has in common with its standbys.
    let system: Int64
    /// The number that each promotion raises.
    let number: Int64

    /// How another cluster stands to this one.
    enum Order {
        case same
        case older
        case newer
        case foreign
    }

    /// How this one stands to an earlier one.
    func order(after earlier: ServerTimeline) -> Order {
        guard system == earlier.system else { return .foreign }
        if number == earlier.number { return .same }
        return number < earlier.number ? .older : .newer
    }
}

/// The file that has the newest server.
///
/// - Thread: the journal's.
struct KnownServer {
    let path: String

    /// The server in the file; nil if there is none.
    func read() -> ServerTimeline? {
        guard let bytes = try? File.read(path, atMost: 128) else { return nil }
        let numbers = String(decoding: bytes, as: UTF8.self)
            .split(whereSeparator: \.isWhitespace).compactMap { Int64($0) }
        guard numbers.count == 2 else { return nil }
        return ServerTimeline(system: numbers[0], number: numbers[1])
    }

    /// Keeps a server in the file.
    ///
    /// - Blocks: for the disk.
    func write(_ server: ServerTimeline, _ log: StoreLog) {
        do throws(SystemError) {
            try File.replace(path, with: Array("\(server.system) \(server.number)\n".utf8))
        } catch {
            log.warning(
                "after a promotion and a restart, this daemon can't tell an older database server "
                    + "from the present one: \(error)")
        }
    }
}
