// A worker that takes jobs from a server and ends them at once: one thread, one blocking socket.
// One program speaks to every server, so that all get the same work.

internal import Kernel
internal import RESP

/// The conversation of a worker with a kind of server.
struct TakingDialect: ~Copyable {
    /// The kinds of servers, and of conversations.
    enum Kind: Sendable {
        case workerd(isFused: Bool)
        case beanstalkd(isOneWrite: Bool)
        case redis

        /// Whether the end of a job and the request for the next one go out together.
        var isFused: Bool {
            switch self {
            case .workerd(let isFused), .beanstalkd(let isFused): isFused
            case .redis: false
            }
        }

        func server(threadCount: Int) -> ServerCommand {
            switch self {
            case .workerd: .workerdOfWorkers(threadCount: threadCount)
            case .beanstalkd: .beanstalkd
            case .redis: .redis
            }
        }
    }

    /// A job as its server gives it out.
    struct Taken {
        var id: [UInt8] = []
        var token: [UInt8] = []
        var payload: [UInt8] = []
    }

    let kind: Kind
    private var parser = ReplyParser()
    private var bytes = ReplyBytes()

    init(_ kind: Kind) { self.kind = kind }

    func writeSubmit(_ payload: [UInt8], to output: inout [UInt8]) {
        switch kind {
        case .workerd:
            CommandWriter.write(["PERFORM", "images", "turn", .bytes(payload)], to: &output)
        case .beanstalkd:
            output += Array("put 1024 0 60 \(payload.count)\r\n".utf8) + payload
            output += [13, 10]
        case .redis: CommandWriter.write(["LPUSH", "jobs", .bytes(payload)], to: &output)
        }
    }

    func writeTake(to output: inout [UInt8]) {
        switch kind {
        case .workerd: CommandWriter.write(["TAKE"] + Self.wish, to: &output)
        case .beanstalkd: output += Array("reserve\r\n".utf8)
        case .redis: CommandWriter.write(["BRPOPLPUSH", "jobs", "taken", 0], to: &output)
        }
    }

    /// Writes the end of a job.
    ///
    /// - Parameter isFollowed: whether the reply is to be the next job.
    func writeEnd(of job: Taken, isFollowed: Bool, to output: inout [UInt8]) {
        switch kind {
        case .workerd:
            let then: [CommandArgument] = isFollowed ? ["THEN", "TAKE"] + Self.wish : []
            let delivery: [CommandArgument] = ["DONE", .bytes(job.id), .bytes(job.token)]
            CommandWriter.write(delivery + then + [.bytes(job.payload)], to: &output)
        case .beanstalkd:
            output += Array("delete ".utf8) + job.id + [13, 10]
            if isFollowed { output += Array("reserve\r\n".utf8) }
        case .redis: CommandWriter.write(["LREM", "taken", 1, .bytes(job.payload)], to: &output)
        }
    }

    private static let wish: [CommandArgument] = ["WAIT", 60_000, "FROM", "turn"]

    /// Reads from the socket until the reply to a take is there.
    mutating func readJob(_ socket: borrowing Descriptor) throws -> Taken {
        switch kind {
        case .workerd:
            let reply = try readReply(socket)
            guard let parts = reply.elements, parts.count == 8, let id = parts[0].integer,
                let token = parts[1].bytes, let payload = parts[7].bytes
            else { throw WorkbenchError("workerd gave \(reply)") }
            return Taken(id: Array("\(id)".utf8), token: token, payload: payload)
        case .redis:
            let reply = try readReply(socket)
            guard let payload = reply.bytes else { throw WorkbenchError("Redis gave \(reply)") }
            return Taken(payload: payload)
        case .beanstalkd:
            // RESERVED id bytes
            let words = try readLine(socket).split(separator: " ")
            guard words.count == 3, words[0] == "RESERVED", let count = Int(words[2]) else {
                throw WorkbenchError("beanstalkd gave \(words)")
            }
            while bytes.count < count + 2 { try fill(socket) }
            let payload = Array(bytes.text(0..<count).utf8)
            bytes.drop(count + 2)
            return Taken(id: Array(words[1].utf8), payload: payload)
        }
    }

    /// Reads the reply to an end, or to submits.
    mutating func readConfirmation(_ socket: borrowing Descriptor) throws {
        switch kind {
        case .beanstalkd:
            let line = try readLine(socket)
            guard line == "DELETED" || line.hasPrefix("INSERTED ") else {
                throw WorkbenchError("beanstalkd answered \(line)")
            }
        case .workerd, .redis:
            let reply = try readReply(socket)
            if reply.integer == nil, reply.text != "OK" {
                throw WorkbenchError("a server answered \(reply)")
            }
        }
    }

    private mutating func readReply(_ socket: borrowing Descriptor) throws -> RESPValue {
        while true {
            if let reply = try parser.next() { return reply }
            try socket.read(into: &parser)
        }
    }

    private mutating func readLine(_ socket: borrowing Descriptor) throws -> String {
        while true {
            for offset in 0..<bytes.count where bytes[offset] == UInt8(ascii: "\n") {
                let line = bytes.text(0..<max(0, offset - 1))
                bytes.drop(offset + 1)
                return line
            }
            try fill(socket)
        }
    }

    private mutating func fill(_ socket: borrowing Descriptor) throws {
        var result = ReadResult.wouldBlock
        try bytes.fill { (bytes: inout [UInt8]) throws(SystemError) in
            result = try socket.read(appendingTo: &bytes, atMost: 64 << 10)
        }
        if result == .end { throw WorkbenchError("the server closed the connection") }
    }
}

/// One worker and its measurements; confined to its thread.
final class TakingWorker {
    private let socket: Descriptor
    private var dialect: TakingDialect
    private var output: [UInt8] = []
    private var job = TakingDialect.Taken()
    /// The nanoseconds of each job.
    var times: [Int64] = []
    /// Depends on every payload, in no order.
    private(set) var hash: UInt64 = 0

    private static let submitCountMax = 512

    init(_ kind: TakingDialect.Kind, at address: SocketAddress) throws {
        dialect = TakingDialect(kind)
        socket = try address.connect(timeoutMilliseconds: 5_000)
    }

    /// Submits jobs, and reads that they were accepted.
    func submit(from first: Int, _ count: Int) throws {
        var submitted = 0
        while submitted < count {
            let some = min(Self.submitCountMax, count - submitted)
            for index in 0..<some {
                let payload = LoadPayload.of(client: 1, first + submitted + index)
                dialect.writeSubmit(payload, to: &output)
            }
            try flush()
            for _ in 0..<some { try dialect.readConfirmation(socket) }
            submitted += some
        }
    }

    /// Takes and ends so many jobs.
    func run(_ count: Int) throws {
        guard count > 0 else { return }
        times.reserveCapacity(times.count + count)
        let isFused = dialect.kind.isFused
        var begin = nanoseconds()
        if isFused {
            try ask()
            try receive()
        }
        for number in 1...count {
            if !isFused {
                try ask()
                try receive()
            }
            let isFollowed = isFused && number < count
            try end(isFollowed: isFollowed)
            let now = nanoseconds()
            times.append(now - begin)
            begin = now
        }
    }

    /// Asks for a job, which `receive` waits for.
    func ask() throws {
        dialect.writeTake(to: &output)
        try flush()
    }

    func receive() throws {
        job = try dialect.readJob(socket)
        hash &+= LoadPayload.hash(0, job.payload)
    }

    /// Ends the job, and receives the next one if it is followed.
    func end(isFollowed: Bool = false) throws {
        dialect.writeEnd(of: job, isFollowed: isFollowed, to: &output)
        try flush()
        // workerd answers a fused end with the next job only.
        if case .workerd = dialect.kind, isFollowed { return try receive() }
        try dialect.readConfirmation(socket)
        if isFollowed { try receive() }
    }

    private func flush() throws {
        try socket.write(everything: output)
        output.removeAll(keepingCapacity: true)
    }
}

extension ServerCommand {
    /// The workerd beside this program, with a selector for workers.
    static func workerdOfWorkers(threadCount: Int) -> ServerCommand {
        ServerCommand(name: "workerd") { directory, socket in
            let configuration = """
                { listen: { unix: "\(socket)", unixMode: "0600" }, store: "memory",
                  threads: { images: { count: \(threadCount), maxQueued: 2000000 } },
                  selectors: { turn: { worker: true } }, log: { level: "warning" } }
                """
            let path = "\(directory)/workerd.json5"
            try File.write(Array(configuration.utf8), to: path)
            return ChildCommand(
                program: try Executable.beside("workerd"), arguments: ["--config", path])
        }
    }

    /// beanstalkd without persistence.
    static let beanstalkd = ServerCommand(
        name: "beanstalkd", obstacle: { Executable.obstacle("beanstalkd") }
    ) { _, socket in
        ChildCommand(
            program: try Executable.find("beanstalkd"), arguments: ["-l", "unix:\(socket)"])
    }
}
