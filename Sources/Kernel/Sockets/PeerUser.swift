// Whose process is at the other end of a Unix socket, whose a path is, and the numbers of users.

internal import CLinux
internal import Glibc

extension Descriptor {
    /// The user of the process that listens at the other end of a Unix socket.
    ///
    /// - Thread: the one that owns the descriptor.
    /// - Blocks: never.
    /// - Source: unix(7), SO_PEERCRED: the user at the time of listen(2).
    package borrowing func peerUserID() throws(SystemError) -> UInt32 { try peer().userID }

    /// The process at the other end of a Unix socket, and its user.
    ///
    /// - Thread: the one that owns the descriptor.
    /// - Blocks: never.
    /// - Source: unix(7), SO_PEERCRED: for a connection that was accepted, the process and the user
    ///   at the time of connect(2).
    package borrowing func peer() throws(SystemError) -> (processID: Int, userID: UInt32) {
        // Process, user and group: the three numbers of `struct ucred`.
        var numbers: [UInt32] = [0, 0, 0]
        var byteCount = socklen_t(numbers.count * MemoryLayout<UInt32>.size)
        let socket = number
        try retrying("getsockopt SO_PEERCRED") {
            unsafe getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &numbers, &byteCount)
        }
        return (Int(numbers[0]), numbers[1])
    }
}

extension File {
    /// The owner and the mode bits of a path, links followed; nil when there is nothing.
    ///
    /// - Throws: EACCES, ELOOP, ENAMETOOLONG.
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func owner(
        of path: String
    ) throws(SystemError) -> (userID: UInt32, mode: UInt32)? {
        try status(of: path, followingLinks: true).map { ($0.st_uid, $0.st_mode & 0o7777) }
    }
}

/// The numbers of users.
package enum UserID {
    /// The user that this process runs as.
    package static var own: UInt32 { geteuid() }

    /// Large enough for an entry of any directory service in use.
    private static let entryByteCountMax = 64 << 10

    /// The number of a user; nil when the machine knows no such name.
    ///
    /// - Thread: any.
    /// - Blocks: for the disk, or a directory service.
    /// - Source: getpwnam_r(3).
    package static func named(_ name: String) -> UInt32? {
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var room = [CChar](repeating: 0, count: entryByteCountMax)
        let error = unsafe getpwnam_r(name, &entry, &room, entryByteCountMax, &found)
        guard error == 0, unsafe found != nil else { return nil }
        return unsafe entry.pw_uid
    }
}
