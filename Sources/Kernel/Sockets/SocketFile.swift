// The file of a Unix socket: how it comes to be with the right mode bits from the first moment,
// when one that a dead server left may be replaced, and whose it is at the end.

internal import CLinux
internal import Glibc

/// A socket file that this process made, known by its device and inode.
///
/// The path alone does not tell: another server may have replaced the file by now. The inode
/// cannot be given to another file while the socket that was bound to it is open.
struct SocketFile: Equatable, Sendable {
    let path: String
    private let device: UInt64
    private let inode: UInt64

    /// Binds a socket to a path.
    ///
    /// Mode bits: bind makes the file with the mode bits of the socket itself less the umask
    /// (unix_bind in the kernel), so fchmod on the socket *before* bind means that there is no
    /// moment in which the file is more open than it should be. Setting the umask would do too, but
    /// it is the whole process's; a temporary name with chmod and rename needs room in the 107
    /// bytes of the path and can replace a living server's file. What the umask took away in
    /// excess is given back afterwards.
    ///
    /// The directory is locked meanwhile, or of two servers that start at once and find the same
    /// dead file the slower one would remove the new socket of the faster one.
    ///
    /// - Parameter listen: called under the lock: a socket that is bound but not listening yet
    ///   looks dead to another server.
    /// - Throws: `.inUse`, `.notASocket`, `.directoryBusy`, or what bind says.
    static func bind(
        _ descriptor: borrowing Descriptor, to address: UnixAddress, mode: UInt32,
        listen: (borrowing Descriptor) throws(SystemError) -> Void
    ) throws(SocketError) -> SocketFile {
        let lock = try DirectoryLock(address.directory)
        defer { lock.release() }
        do throws(SystemError) {
            try retrying("fchmod") { fchmod(descriptor.number, mode) }
            try bindOnce(descriptor, to: address)
        } catch {
            guard error.errno == EADDRINUSE else { throw .system(error) }
            try removeDead(address)
            try asSocketError { () throws(SystemError) in try bindOnce(descriptor, to: address) }
        }
        let file = try asSocketError { () throws(SystemError) in try SocketFile(address.path) }
        do throws(SystemError) {
            try file.restoreMode(mode)
            try listen(descriptor)
        } catch {
            file.removeIfOurs()
            throw .system(error)
        }
        return file
    }

    private init(_ path: String) throws(SystemError) {
        guard let status = try File.status(of: path, followingLinks: false) else {
            throw SystemError(operation: "lstat \(path)", errno: ENOENT)
        }
        self.path = path
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// Removes the file, unless the path has become another one's.
    ///
    /// Call it while the socket is still open; see the type's comment.
    func removeIfOurs() {
        guard let current = try? SocketFile(path), current == self else { return }
        // No caller is left to tell if this fails: a dead socket file is replaced by the next
        // server.
        try? File.remove(path)
    }

    private func restoreMode(_ mode: UInt32) throws(SystemError) {
        guard let status = try File.status(of: path, followingLinks: false) else { return }
        if status.st_mode & 0o7777 != mode { try File.setMode(mode, of: path) }
    }

    private static func bindOnce(
        _ descriptor: borrowing Descriptor, to address: UnixAddress
    ) throws(SystemError) {
        try retrying("bind \(address)") {
            unsafe SocketAddress.unix(address).withStorage {
                unsafe Glibc.bind(descriptor.number, $0, $1)
            }
        }
    }

    /// Removes a socket file without a listener; throws when it is anything else.
    private static func removeDead(_ address: UnixAddress) throws(SocketError) {
        let status = try asSocketError { () throws(SystemError) in
            try File.status(of: address.path, followingLinks: false)
        }
        guard let status else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw .notASocket(path: address.path)
        }
        let probe = try asSocketError { () throws(SystemError) in
            try Descriptor.socket(family: AF_UNIX, isNonBlocking: true)
        }
        do throws(SystemError) {
            try retrying("connect \(address)") {
                unsafe SocketAddress.unix(address).withStorage {
                    unsafe Glibc.connect(probe.number, $0, $1)
                }
            }
        } catch {
            switch error.errno {
            case ECONNREFUSED:
                return try asSocketError { () throws(SystemError) in
                    try File.remove(address.path)
                }
            case ENOENT: return
            // Its queue is full, or it is a server of datagrams: it lives.
            case EAGAIN, EPROTOTYPE: throw .inUse(address.path)
            default: throw .system(error)
            }
        }
        throw .inUse(address.path)
    }
}

/// The lock that servers take on the directory in which they make their sockets.
private struct DirectoryLock: ~Copyable {
    private let descriptor: Descriptor

    /// Locks a directory, waiting for a second at most.
    ///
    /// - Throws: ENOENT, EACCES, ENOTDIR; EBADF or ENOLCK where the file system has no locks.
    /// - Source: flock(2).
    init(_ path: String) throws(SocketError) {
        let attemptCountMax = 50
        let attemptMilliseconds: CInt = 20
        let directory = try asSocketError { () throws(SystemError) in
            try File.open("open \(path)", path, O_RDONLY | O_DIRECTORY)
        }
        for _ in 0..<attemptCountMax {
            if flock(directory.number, LOCK_EX | LOCK_NB) == 0 {
                descriptor = directory
                return
            }
            switch Glibc.errno {
            case EINTR: continue
            case EWOULDBLOCK: _ = poll(nil, 0, attemptMilliseconds)
            default: throw .system(.last("flock \(path)"))
            }
        }
        throw .directoryBusy(path)
    }

    /// Marks where the lock's life ends; closing its descriptor is what releases it.
    borrowing func release() {}
}
