// How a child is started: posix_spawn, which on Linux shares the parent's memory until exec and so
// neither copies it nor runs anything of ours in the child.

internal import CLinux
internal import Glibc

/// The program to start, and its surroundings.
package struct ChildCommand: Sendable {
    /// The program's absolute path; `Program.find` makes one from a name.
    package var program: String
    /// The arguments after the program's name.
    package var arguments: [String]
    /// All of the child's environment; nil gives it this process's.
    package var environment: [String: String]?
    /// Where the child starts; nil leaves it where this process is.
    package var workingDirectory: String?
    /// Limits of the child's resources; `ChildProcess` says from when on.
    package var limits: [ResourceLimit: UInt64]
    /// Whether the child has one more pipe to write to, as descriptor 3.
    package var hasReportPipe = false

    package init(
        program: String, arguments: [String] = [], environment: [String: String]? = nil,
        workingDirectory: String? = nil, limits: [ResourceLimit: UInt64] = [:]
    ) {
        self.program = program
        self.arguments = arguments
        self.environment = environment
        self.workingDirectory = workingDirectory
        self.limits = limits
    }
}

extension ChildProcess {
    /// Starts a program in a process group of its own, with pipes as its standard streams.
    ///
    /// The child's ends are blocking, ours are not. The child blocks no signal and ignores none.
    /// It gets no other descriptor, not even what a library opened without close-on-exec, but for
    /// the one that it may report to. Limits apply from the moment this returns: the program may
    /// have run its first instructions without them.
    ///
    /// - Parameter file: the child's standard input in place of a pipe that we write to.
    /// - Throws: what exec says, with the program's path: ENOENT (no such program, or none that its
    ///   first line names), EACCES, ENOEXEC, E2BIG; with the directory's, if it cannot be entered;
    ///   EINVAL for an argument that contains NUL; EMFILE, EAGAIN, ENOMEM.
    /// - Thread: any.
    /// - Blocks: until the child has called exec.
    /// - Source: posix_spawn(3), pidfd_open(2).
    package static func spawn(
        _ command: ChildCommand, reading file: consuming Descriptor? = nil
    ) throws(SystemError) -> ChildProcess {
        try command.checkTexts()
        let input = try ChildInput(file)
        let output = try Pipe(nonBlocking: .readEnd)
        let errors = try Pipe(nonBlocking: .readEnd)
        let report = command.hasReportPipe ? try Pipe(nonBlocking: .readEnd) : nil
        let processID = try command.spawn(
            input: input.number, output: output.writeEnd, errors: errors.writeEnd,
            report: writeNumber(of: report))
        // The child has its ends: without them here there is room for one descriptor more.
        let ourInput = input.keepOurEnd()
        let ourOutput = output.keepReadEnd()
        let ourErrors = errors.keepReadEnd()
        let ourReport = readEnd(of: report)
        let endDescriptor = clinux_pidfd_open(processID)
        if endDescriptor < 0 {
            // Without it the child's end would go unnoticed, so it must not live.
            _ = kill(-processID, SIGKILL)
            _ = try? retrying("waitpid") { waitpid(processID, nil, 0) }
            throw SystemError(operation: SystemError.childWithoutEnd, errno: -endDescriptor)
        }
        let child = ChildProcess(
            processID: processID, endDescriptor: Descriptor(owning: endDescriptor),
            input: ourInput, output: ourOutput, errors: ourErrors, report: ourReport)
        for (limit, value) in command.limits {
            try limit.set(value, ofProcess: processID)
        }
        return child
    }

    private static func writeNumber(of pipe: borrowing Pipe?) -> CInt? {
        switch pipe {
        case .some(let pipe): pipe.writeEnd.number
        case nil: nil
        }
    }

    private static func readEnd(of pipe: consuming Pipe?) -> Descriptor? {
        guard let pipe else { return nil }
        return pipe.keepReadEnd()
    }
}

/// The standard input of a child.
private enum ChildInput: ~Copyable {
    /// A pipe into which we write.
    case pipe(Pipe)
    case file(Descriptor)

    init(_ file: consuming Descriptor?) throws(SystemError) {
        if let file {
            self = .file(try file.movedAboveStandardStreams())
        } else {
            self = .pipe(try Pipe(nonBlocking: .writeEnd))
        }
    }

    /// The number of what the child gets.
    var number: CInt {
        switch self {
        case .pipe(let pipe): pipe.readEnd.number
        case .file(let file): file.number
        }
    }

    consuming func keepOurEnd() -> Descriptor? {
        switch consume self {
        case .pipe(let pipe): pipe.keepWriteEnd()
        case .file: nil
        }
    }
}

extension SystemError {
    fileprivate static let childWithoutEnd = "pidfd_open"

    /// Whether a child was not started, and has run nothing, because there was no room for one more
    /// process, descriptor or page: in a while there may be.
    package var isForWantOfRoom: Bool {
        [EAGAIN, EMFILE, ENFILE, ENOMEM].contains(errno)
            && operation != SystemError.childWithoutEnd
    }
}

extension ChildCommand {
    /// C's strings end at the first NUL: what follows it would silently be lost.
    fileprivate func checkTexts() throws(SystemError) {
        var texts: [(String, String)] = [("the program's path", program)]
        texts += arguments.enumerated().map { ("argument \($0.offset + 1)", $0.element) }
        if let workingDirectory { texts.append(("the working directory", workingDirectory)) }
        for (name, value) in environment ?? [:] {
            texts.append(("the environment", name + value))
            if name.isEmpty || name.utf8.contains(UInt8(ascii: "=")) {
                let what = "posix_spawn \(program): \"\(name)\" names no environment variable"
                throw SystemError(operation: what, errno: EINVAL)
            }
        }
        for (name, text) in texts where text.utf8.contains(0) {
            throw SystemError(
                operation: "posix_spawn \(program): \(name) contains NUL", errno: EINVAL)
        }
    }

    fileprivate func spawn(
        input: CInt, output: borrowing Descriptor, errors: borrowing Descriptor, report: CInt?
    ) throws(SystemError) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        try check("posix_spawn_file_actions_init", unsafe posix_spawn_file_actions_init(&actions))
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        // Nothing here has a number below 3 (see Pipe), so none overwrites another one here; what
        // the last one overwrites has been handed over already.
        var streams = [
            (input, STDIN_FILENO), (output.number, STDOUT_FILENO),
            (errors.number, STDERR_FILENO),
        ]
        if let report { streams.append((report, StandardStream.count)) }
        for (from, to) in streams {
            try check(
                "posix_spawn_file_actions_adddup2",
                unsafe posix_spawn_file_actions_adddup2(&actions, from, to))
        }
        try check(
            "posix_spawn_file_actions_addclosefrom_np",
            unsafe posix_spawn_file_actions_addclosefrom_np(&actions, CInt(streams.count)))
        if let workingDirectory {
            try check(
                "posix_spawn_file_actions_addchdir_np",
                unsafe posix_spawn_file_actions_addchdir_np(&actions, workingDirectory))
        }
        var attributes = posix_spawnattr_t()
        try check("posix_spawnattr_init", unsafe posix_spawnattr_init(&attributes))
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var noSignal = sigset_t()
        unsafe sigemptyset(&noSignal)
        var everySignal = sigset_t()
        unsafe sigfillset(&everySignal)
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        try check(
            "posix_spawnattr_setflags",
            unsafe posix_spawnattr_setflags(&attributes, CShort(flags)))
        try check(
            "posix_spawnattr_setpgroup", unsafe posix_spawnattr_setpgroup(&attributes, 0))
        try check(
            "posix_spawnattr_setsigmask",
            unsafe posix_spawnattr_setsigmask(&attributes, &noSignal))
        try check(
            "posix_spawnattr_setsigdefault",
            unsafe posix_spawnattr_setsigdefault(&attributes, &everySignal))

        var processID: pid_t = 0
        let result = unsafe withCStrings([program] + arguments) { argv in
            guard let environment else {
                return unsafe posix_spawn(
                    &processID, program, &actions, &attributes, argv, clinux_environment())
            }
            return unsafe withCStrings(environment.map { "\($0.key)=\($0.value)" }) { envp in
                unsafe posix_spawn(&processID, program, &actions, &attributes, argv, envp)
            }
        }
        if result != 0 { throw failure(result) }
        return processID
    }

    /// Says which of the paths was meant, as posix_spawn only reports a number.
    private func failure(_ errno: CInt) -> SystemError {
        if let workingDirectory,
            unsafe faccessat(AT_FDCWD, workingDirectory, X_OK, AT_EACCESS) != 0
                || (try? File.kind(of: workingDirectory)) != .directory
        {
            return SystemError(operation: "chdir \(workingDirectory)", errno: errno)
        }
        return SystemError(operation: "posix_spawn \(program)", errno: errno)
    }

    private func check(_ operation: String, _ result: CInt) throws(SystemError) {
        if result != 0 { throw SystemError(operation: operation, errno: result) }
    }
}

/// Calls `body` with texts as C wants them: pointers to NUL-terminated bytes, and a null pointer.
private func withCStrings<Result>(
    _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    let pointers = UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>.allocate(
        capacity: texts.count + 1)
    unsafe pointers.initialize(repeating: nil)
    for (index, text) in texts.enumerated() { unsafe pointers[index] = strdup(text) }
    defer {
        for index in texts.indices { unsafe free(pointers[index]) }
        unsafe pointers.deallocate()
    }
    guard let base = pointers.baseAddress else { fatalError("there is the null pointer") }
    return unsafe body(UnsafePointer(base))
}
