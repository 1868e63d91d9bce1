// Histories as text: a line of input, and under it, indented, everything that the scheduler said.
// They read as documentation, and a change of behaviour is a difference in a file.
//
// Inputs, a word for each argument:
//
//     perform THREAD PAYLOAD [of SELECTOR] [delay MS] [buffer] [priority P] [key K] [retry N]
//             [block] [expire MS] [unique U] [again] [for MS] [wait [MS]] [volatile]
//     begin MEMBER [held]     end MEMBER done|failed|cancelled|given-back      hear
//     store [refuses]         deliver [COUNT]                       pass MS
//     cancel N                cancel THREAD                         fire THREAD
//     release THREAD · claim THREAD · suspend GROUP · resume GROUP COUNT
//     elsewhere THREAD
//     remove GROUP · serve GROUP COUNT · handle SELECTOR…
//     job N · wait N · retry N · drop N · watch N [for CLIENT] · list · crash · drain · stop MEMBER
//     clock MS

import Jobs
import StoreTwin

/// Plays the inputs of a history, and writes down what was said.
final class Transcript {
    private let driver: TestDriver
    private var said: [String] = []
    private var requestCount: UInt64 = 0

    init(book: Bool, window: Int, retained: Int?) {
        var limits = StoreLimits()
        if let retained { limits.retainedByteCountMax = retained }
        driver = TestDriver(
            selectors: [("echo", JobOptions()), ("other", JobOptions())],
            book: book ? .init(limits: limits) : nil,
            window: window == 0 ? WindowLimits() : WindowLimits(countMax: window), limits: limits)
        driver.tell = { [unowned self] in said.append($0) }
    }

    /// Plays a whole history; lines that are not inputs are left out of the result and made anew.
    static func play(_ text: String) throws -> String {
        var transcript: Transcript?
        var lines: [String] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("    ") { continue }
            lines.append(String(line))
            let words = line.split(separator: " ").map(String.init)
            guard let first = words.first, first != "#" else { continue }
            if first == "scheduler" {
                func value(_ word: String) -> Int? {
                    words.firstIndex(of: word).flatMap { Int(words[$0 + 1]) }
                }
                transcript = Transcript(
                    book: words.contains("stored"), window: value("window") ?? 0,
                    retained: value("retained"))
                transcript?.driver.othersHaveThreads = words.contains("shared")
                _ = transcript?.takeSaid()
                continue
            }
            guard let transcript else { throw HistoryFault("no scheduler before '\(line)'") }
            try transcript.play(words)
            lines += transcript.takeSaid().map { "    \($0)" }
        }
        return lines.joined(separator: "\n")
    }

    private func takeSaid() -> [String] {
        defer { said = [] }
        return said
    }

    private func reply(
        _ patience: ReplyToken.Patience? = nil, to client: UInt64 = 1
    ) -> ReplyToken {
        requestCount += 1
        return ReplyToken(client: client, number: requestCount, patience: patience)
    }

    private func play(_ words: [String]) throws {
        let rest = Array(words.dropFirst())
        switch words[0] {
        case "perform": try perform(rest)
        case "begin":
            let attempt = driver.begin(on: rest[0], isHeld: rest.contains("held"))
            said.append(
                attempt.map { "job \($0.id), attempt \($0.number), runs" } ?? "nothing to run")
        case "end": try end(rest)
        case "hear": driver.hear()
        case "store":
            driver.store(
                refusing: rest.isEmpty ? nil : StoreFault(.full, path: "book", detail: "as wished"))
        case "deliver": driver.deliver(rest.isEmpty ? .max : Int(try number(rest[0])))
        case "pass": driver.advance(byMilliseconds: try number(rest[0]))
        case "clock":
            driver.wallOffset += try number(rest[0])
            driver.input { $0.clockWasSet() }
        case "crash": driver.crash()
        case "drain":
            driver.input {
                $0.refuse()
                _ = $0.keepDelayed()
                _ = $0.abandonDelayed()
            }
        case "stop":
            for group in driver.groups { group.stopped.insert(rest[0]) }
            driver.input { $0.threadsWereStopped() }
        case "leave":
            guard let job = driver.scheduler.book.active(JobID(UInt64(try number(rest[0]))))
            else { throw HistoryFault("there is no job \(rest[0])") }
            driver.input { $0.isLeftByWorkers(job) }
        case "list":
            let reply = reply()
            driver.input { $0.goOn(Listing(thread: nil, state: nil, limit: 10, reply)) }
        case "cancel": try cancel(rest[0])
        case "release", "claim", "elsewhere": move(words[0], rest[0])
        case "suspend":
            let reply = reply()
            driver.input { $0.suspend(group: rest[0], reply) }
        case "remove":
            let reply = reply()
            driver.remove(rest[0], reply)
        case "serve":
            for thread in driver.serve(rest[0], count: Int(try number(rest[1]))) {
                let reply = reply()
                driver.input { $0.claim(thread, reply) }
            }
        case "handle":
            for thread in driver.serve(selectors: rest) {
                said.append("release and claim \(thread)")
                let replies = (reply(), reply())
                driver.input { $0.release(thread, keepsNew: true, replies.0) }
                driver.input { $0.claim(thread, replies.1) }
            }
        case "resume":
            _ = driver.resume(rest[0], TestDriver.members(rest[0], Int(try number(rest[1]))))
        case "fire":
            let reply = reply()
            driver.input { $0.fire(rest[0], reply) }
        default:
            let client = rest.count > 2 ? UInt64(try number(rest[2])) : 1
            try ask(words[0], JobID(UInt64(try number(rest[0]))), client)
        }
        driver.scheduler.checkInvariants()
        said += driver.scheduler.takeFaults()
    }

    /// Releases a thread or claims it, or another scheduler has it.
    private func move(_ word: String, _ thread: String) {
        switch word {
        case "elsewhere":
            let watching = driver.input { $0.leaveClients { $0 == thread } }
            said.append("clients that watch: \(watching.sorted())")
        case "release":
            let reply = reply()
            driver.input { $0.release(thread, reply) }
        default:
            let reply = reply()
            driver.input { $0.claim(thread, reply) }
        }
    }

    private func ask(_ word: String, _ id: JobID, _ client: UInt64) throws {
        let reply = reply(to: client)
        switch word {
        case "job": driver.input { $0.describe(id, reply) }
        case "wait": driver.input { $0.wait(for: id, reply) }
        case "retry": driver.input { $0.runAgain(.one(id), reply) }
        case "drop": driver.input { $0.drop(.one(id), reply) }
        case "watch": driver.input { $0.watch([id], reply) }
        default: throw HistoryFault("no input '\(word)'")
        }
    }

    private func cancel(_ word: String) throws {
        let reply = reply()
        if let id = UInt64(word) { return driver.input { $0.cancel(JobID(id), reply) } }
        driver.input { $0.cancel(thread: word, selector: "echo", payload: nil, reply) }
    }

    private func end(_ words: [String]) throws {
        let running = driver.groups.compactMap { $0.running[words[0]] }.first
        guard let running else { throw HistoryFault("\(words[0]) runs nothing") }
        switch words[1] {
        case "done": driver.end(running, .done(running.job.payload))
        case "failed": driver.end(running, .failed(reason: "as wished"))
        case "cancelled": driver.end(running, .cancelled)
        case "given-back": driver.passOn(running, hasVanished: false)
        default: throw HistoryFault("no end '\(words[1])'")
        }
    }

    private func perform(_ words: [String]) throws {
        var request = JobRequest(
            thread: words[0], selector: "echo", payload: Array(words[1].utf8))
        var options = JobOptions()
        var patience: ReplyToken.Patience?
        var index = 2
        while index < words.count {
            let next = index + 1 < words.count ? words[index + 1] : ""
            switch words[index] {
            case "buffer": request.schedule = .buffered
            case "block": options.retryBlocks = true
            case "volatile": request.isVolatile = true
            case "again":
                request.unique = request.unique.map {
                    UniqueName($0.bytes, isAgain: true, milliseconds: $0.milliseconds)
                }
            case "wait":
                patience = .unlimited
                if let limit = Int(next) {
                    patience = .milliseconds(limit)
                    index += 1
                }
            default:
                try read(words[index], next, &request, &options)
                index += 1
            }
            index += 1
        }
        request.options = SharedJobOptions(options)
        let reply = reply(patience)
        driver.input { $0.perform(request, reply) }
    }

    private func read(
        _ word: String, _ value: String, _ request: inout JobRequest, _ options: inout JobOptions
    ) throws {
        switch word {
        case "delay":
            let due = driver.now.unixMilliseconds + (try number(value))
            request.schedule = .at(due, byClock: false)
        case "at": request.schedule = .at(driver.now.unixMilliseconds + (try number(value)))
        case "of": request.selector = value
        case "priority": request.priority = Priority(name: value.utf8) ?? .normal
        case "key": options.key = Array(value.utf8)
        case "retry": options.retryCountMax = Int(try number(value))
        case "expire": options.expireMilliseconds = try number(value)
        case "unique": request.unique = UniqueName(Array(value.utf8))
        case "for":
            let milliseconds = try number(value)
            request.unique = request.unique.map {
                UniqueName($0.bytes, isAgain: $0.isAgain, milliseconds: milliseconds)
            }
        default: throw HistoryFault("no option '\(word)'")
        }
    }

    private func number(_ word: String) throws -> Int64 {
        guard let number = Int64(word) else { throw HistoryFault("'\(word)' is no number") }
        return number
    }
}

/// Says what is wrong with a history.
struct HistoryFault: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
