// Changing a small file that several programs change: each locks it, reads it, and puts a new one
// in its place. The lock belongs to the file and not to its path. So a program that has waited for
// the lock looks whether the path still leads to that file.

internal import Glibc

/// A file that this process has locked in order to change it; links are followed.
///
/// - Thread: the one that has made it.
package struct ChangingFile: ~Copyable {
    /// How long another program's lock is waited for.
    private static let patienceMilliseconds = 30_000
    fileprivate static let pauseMilliseconds: CInt = 5

    /// Its bytes; nil if there is no file.
    package let bytes: [UInt8]?
    /// Where it is, or is to be: the end of all links.
    private let path: String
    /// Open while it is locked; nil if there is no file.
    private let descriptor: Descriptor?

    /// Locks a regular file until this value is gone, and reads it.
    ///
    /// Where the file system has no locks, another program may change the file as well.
    ///
    /// - Throws: as `File.readRegular`, but not ENOENT; `locked` after 30 seconds.
    /// - Blocks: for the disk, and for another program that changes the file.
    package init(_ path: String, atMost byteCountMax: Int) throws(UnreadableFile) {
        let limit = TimeLimit(milliseconds: Self.patienceMilliseconds)
        while true {
            let place = try File.reading { () throws(SystemError) in try File.endOfLinks(path) }
            guard let file = try Self.open(place) else {
                bytes = nil
                descriptor = nil
                self.path = place
                return
            }
            guard file.lock(within: limit) else { throw .locked(path: place) }
            let isPresent = try File.reading { () throws(SystemError) in
                try File.identity(of: path) == File.identity(of: file, place)
            }
            // Else another one has taken its place while its lock was waited for.
            guard isPresent else { continue }
            bytes = try File.reading { () throws(SystemError) in
                try File.contents(of: file, place, atMost: byteCountMax)
            }
            self.path = place
            descriptor = consume file
            return
        }
    }

    private static func open(_ path: String) throws(UnreadableFile) -> Descriptor? {
        do throws(UnreadableFile) {
            return try File.openRegular(path)
        } catch .system(let error) where error.isLackOfFile {
            return nil
        }
    }

    /// Puts a file with other bytes in its place, with the same owner, group and mode bits.
    ///
    /// - Returns: false if there was no file, and another program has made one since: begin anew.
    /// - Throws: as `File.replace`.
    /// - Blocks: for the disk.
    package consuming func replace(with bytes: [UInt8]) throws(SystemError) -> Bool {
        let isThere = try File.put(bytes, at: path, onlyIfFree: self.bytes == nil)
        // Not earlier: the lock ends with it.
        _ = consume self
        return isThere
    }
}

extension Descriptor {
    /// Locks a file as `lock` does, and waits for a while if it is locked.
    ///
    /// - Returns: false if it is locked still.
    fileprivate borrowing func lock(within limit: TimeLimit) -> Bool {
        while flock(number, LOCK_EX | LOCK_NB) != 0 {
            let code = Glibc.errno
            if code == EINTR { continue }
            // Anything else: the file system has no locks.
            guard code == EWOULDBLOCK else { return true }
            guard limit.millisecondsLeft > 0 else { return false }
            _ = poll(nil, 0, ChangingFile.pauseMilliseconds)
        }
        return true
    }
}

extension File {
    /// How many links the kernel follows in a path.
    private static let linkCountMax = 40

    /// The path to which symbolic links lead; what it names need not be there.
    ///
    /// - Throws: ELOOP.
    fileprivate static func endOfLinks(_ path: String) throws(SystemError) -> String {
        var end = path
        for _ in 0...linkCountMax {
            guard let target = target(ofLink: end) else { return end }
            end =
                target.hasPrefix("/")
                ? target : Directory.path(of: target, in: Directory.parent(of: end))
        }
        throw SystemError(operation: "open \(path)", errno: ELOOP)
    }
}
