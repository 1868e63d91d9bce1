// Flags of an open descriptor, of any kind.

internal import CLinux
internal import Glibc

extension Descriptor {
    /// Makes calls on the descriptor return at once, or wait.
    ///
    /// The flag belongs to the open file, so that it applies to every descriptor that shares it.
    ///
    /// - Throws: nothing that a correct program meets; what fcntl says.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: fcntl(2), F_SETFL.
    package borrowing func setNonBlocking(_ isNonBlocking: Bool) throws(SystemError) {
        let flags = try control("fcntl F_GETFL", F_GETFL, 0)
        let wanted = isNonBlocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK
        if wanted != flags { try control("fcntl F_SETFL", F_SETFL, wanted) }
    }

    /// Makes a second descriptor of the same open file; it is close-on-exec.
    ///
    /// - Throws: EMFILE.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: fcntl(2), F_DUPFD_CLOEXEC.
    package borrowing func duplicate() throws(SystemError) -> Descriptor {
        let lowest = StandardStream.count
        return Descriptor(owning: try control("fcntl F_DUPFD", F_DUPFD_CLOEXEC, lowest))
    }

    /// Gives the descriptor a number of 3 or more.
    ///
    /// A process that was started without standard streams gets their numbers for the first things
    /// it opens; a pipe with the number 2 would then receive what is meant for the log, and in a
    /// child it would be overwritten by the standard streams before it is put in its place.
    consuming func movedAboveStandardStreams() throws(SystemError) -> Descriptor {
        if number >= StandardStream.count { return self }
        return try duplicate()
    }

    @discardableResult
    private borrowing func control(
        _ operation: String, _ command: CInt, _ argument: CInt
    ) throws(SystemError) -> CInt {
        let result = clinux_fcntl(number, command, argument)
        if result >= 0 { return result }
        require(result != -EBADF, "\(operation): bad file descriptor \(number)")
        throw SystemError(operation: operation, errno: -result)
    }
}
