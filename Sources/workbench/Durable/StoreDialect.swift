// The protocol of each kind of server: how a job is submitted, and how its acceptance is
// recognised. Bytes only: it opens and reads nothing itself, so one program drives every server.

internal import RESP

/// Received bytes of a server that are not parsed yet.
struct ReplyBytes {
    private(set) var bytes: [UInt8] = []
    private(set) var start = 0

    var count: Int { bytes.count - start }

    subscript(_ offset: Int) -> UInt8 { bytes[start + offset] }

    mutating func drop(_ count: Int) { start += count }

    /// Lets `body` append to the bytes; parsed bytes are dropped first.
    mutating func fill<Failure>(
        _ body: (inout [UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: true)
        } else if start > 0 {
            bytes.removeSubrange(..<start)
        }
        start = 0
        try body(&bytes)
    }

    func text(_ range: Range<Int>) -> String {
        String(decoding: bytes[start + range.lowerBound..<start + range.upperBound], as: UTF8.self)
    }
}

/// The conversation on one connection to a server that stores jobs.
protocol StoreDialect {
    /// The first bytes of a connection: a question that a server answers as soon as it serves.
    var greeting: [UInt8] { get }

    /// Takes the answer to the greeting.
    ///
    /// - Returns: false if more of it must come.
    /// - Throws: if it says that the server can't serve, or can't yet.
    mutating func takeGreeting(_ replies: inout ReplyBytes) throws(WorkbenchError) -> Bool

    /// Writes `count` jobs.
    mutating func write(_ count: Int, to output: inout [UInt8])

    /// Takes answers.
    ///
    /// - Returns: the number of jobs that are newly on the disk.
    /// - Throws: if a job was refused.
    mutating func takeAccepted(_ replies: inout ReplyBytes) throws(WorkbenchError) -> Int
}

/// The job that every server gets.
enum StoredPayload {
    static let byteCount = 64
    static let bytes = Array(
        "0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789ABCDEF".utf8)
}

/// A dialect with a line for each answer: numbers from workerd and Redis, and beanstalkd's lines.
struct LineDialect: StoreDialect {
    let greeting: [UInt8]
    private let welcome: [UInt8]
    /// The bytes of one job.
    let job: [UInt8]
    private let accepted: [UInt8]

    private init(greeting: String, welcome: String, job: [UInt8], accepted: String) {
        self.greeting = Array(greeting.utf8)
        self.welcome = Array(welcome.utf8)
        self.job = job
        self.accepted = Array(accepted.utf8)
    }

    /// A command whose answer is a number; its last argument is the payload.
    static func command(_ words: String...) -> LineDialect {
        var job: [UInt8] = []
        let arguments = words.map { CommandArgument.text($0) } + [.bytes(StoredPayload.bytes)]
        CommandWriter.write(arguments, to: &job)
        return LineDialect(
            greeting: "*1\r\n$4\r\nPING\r\n", welcome: "+PONG\r\n", job: job, accepted: ":")
    }

    /// A job of the usual priority, without delay, with a minute to run.
    static let beanstalkd = LineDialect(
        greeting: "list-tube-used\r\n", welcome: "USING default\r\n",
        job: Array("put 1024 0 60 \(StoredPayload.byteCount)\r\n".utf8) + StoredPayload.bytes
            + Array("\r\n".utf8),
        accepted: "INSERTED ")

    func takeGreeting(_ replies: inout ReplyBytes) throws(WorkbenchError) -> Bool {
        guard let line = lineCount(replies) else { return false }
        try check(replies, line, begins: welcome)
        replies.drop(line)
        return true
    }

    func write(_ count: Int, to output: inout [UInt8]) {
        for _ in 0..<count { output += job }
    }

    func takeAccepted(_ replies: inout ReplyBytes) throws(WorkbenchError) -> Int {
        var count = 0
        while let line = lineCount(replies) {
            try check(replies, line, begins: accepted)
            replies.drop(line)
            count += 1
        }
        return count
    }

    /// The length of the first line; nil if it is incomplete.
    private func lineCount(_ replies: borrowing ReplyBytes) -> Int? {
        for offset in 0..<replies.count where replies[offset] == UInt8(ascii: "\n") {
            return offset + 1
        }
        return nil
    }

    private func check(
        _ replies: borrowing ReplyBytes, _ line: Int, begins expected: [UInt8]
    ) throws(WorkbenchError) {
        for (offset, byte) in expected.enumerated()
        where offset >= line || replies[offset] != byte {
            throw WorkbenchError("a server answered \(replies.text(0..<line))")
        }
    }
}
