// A program that is run to its end, for what it prints.

internal import Kernel
internal import RunLoops

/// The exit status and the output of a program that has ended.
struct ChildRun {
    private static let byteCountMax = 1 << 20

    /// Its exit status; nil if a signal ended it.
    let status: Int?
    let output: String
    let errors: String

    /// Runs a program.
    ///
    /// - Parameter program: its absolute path.
    /// - Throws: what exec says; EFBIG if it prints more than 1 MiB.
    /// - Blocks: until it has ended.
    init(_ program: String, _ arguments: [String]) throws(SystemError) {
        var child = try ChildProcess.spawn(ChildCommand(program: program, arguments: arguments))
        child.closeInput()
        guard let output = child.takeOutput(), let errors = child.takeErrors() else {
            fatalError("a child has its streams")
        }
        func text(_ stream: borrowing Descriptor) throws(SystemError) -> String {
            let bytes = try stream.readEverything(
                "what \(program) prints", atMost: Self.byteCountMax)
            return String(decoding: bytes, as: UTF8.self)
        }
        self.output = try text(output)
        self.errors = try text(errors)
        let loop = ThreadRunLoop.current
        let end = ThreadRunLoop.Port(watching: child.endDescriptor.number) { port, _ in
            port.invalidate()
            loop.stop()
        }
        try loop.add(end)
        while !child.hasEnded { _ = loop.run(mode: .default) }
        end.invalidate()
        guard case .exited(let status) = child.reap() else {
            status = nil
            return
        }
        self.status = Int(status)
    }

    /// The path of `workerd`: beside this program, or on the search path; nil if there is none.
    static func pathOfDaemon() -> String? {
        if let own = File.target(ofLink: "/proc/self/exe") {
            let beside = Directory.path(of: "workerd", in: Directory.parent(of: own))
            if let found = try? Program.find(beside, in: "") { return found }
        }
        let path = Program.inheritedEnvironment()["PATH", default: "/usr/sbin:/usr/bin"]
        return try? Program.find("workerd", in: path)
    }
}
