// Where each command is executed when several daemons work with one store: the one table of that.

internal import RESP

/// The nodes that execute a command.
enum CommandTarget: Sendable {
    /// The node that the client is connected to.
    case here
    /// The owner of the thread or pool that an argument names.
    case thread(at: Int)
    /// The same for a new job; of a spread pool, the owner of the job's slot.
    case submit(at: Int)
    /// The same for all jobs or threads; of a spread pool, the owner of each slot.
    case slots(at: Int, NodeMerge)
    /// The same; of a spread pool, each node that serves it.
    case pool(at: Int, NodeMerge)
    /// The node that has the job whose number is an argument.
    case job(at: Int)
    /// The nodes that have the jobs whose numbers are the arguments.
    case watch
    /// All nodes at which the client watches jobs.
    case unwatch
    /// All nodes; the answers become one.
    case all(NodeMerge)
    /// All nodes, until one has a job for the worker; the TAKE begins at this argument.
    case take(from: Int)
    /// First the node that has the job, then as TAKE.
    case doneThenTake
}

/// How the answers of all nodes become one.
enum NodeMerge: Sendable {
    /// The sum of numbers.
    case sum
    /// The same answer of all.
    case one
    /// The description of a pool, with the sums of its counts.
    case pool
    /// The rows of threads, each from its owner.
    case threads
    /// The newest or oldest jobs of all.
    case jobs
    /// The groups of failed jobs, added up.
    case failures
    /// The schedules by name, each from the owner of its thread.
    case schedules
}

extension Command {
    /// Whether its answer may be long in coming, as it waits for a job or a job's end.
    var mayWait: Bool {
        switch text(at: 0).lowercased() {
        case "take": true
        case "done": count > 4
        case "result", "output": count > 2
        case "perform": (3..<max(3, count - 1)).contains { matches($0, "WAIT") }
        default: false
        }
    }
}

/// The way of a command to the nodes that execute it.
enum CommandRoute: Sendable {
    case always(CommandTarget)
    /// The arguments decide.
    case by(@Sendable (Command) -> CommandTarget)

    func target(of command: Command) -> CommandTarget {
        switch self {
        case .always(let target): target
        case .by(let find): find(command)
        }
    }

    /// Whether a command never leaves the node.
    var isHere: Bool { if case .always(.here) = self { true } else { false } }

    /// The route of a command, which has to be in the table.
    static func of(_ name: String) -> CommandRoute {
        if let route = table[name] { return route }
        guard stayingNames.contains(name) else { fatalError("\(name) has no route") }
        return .always(.here)
    }

    private static let table: [String: CommandRoute] = [
        "perform": .always(.submit(at: 1)), "buffer": .always(.submit(at: 1)),
        "fire": .always(.slots(at: 1, .sum)), "thread": .always(.pool(at: 1, .pool)),
        "pause": .always(.slots(at: 1, .one)), "resume": .always(.slots(at: 1, .one)),
        "stop": .always(.pool(at: 1, .one)),
        "schedule": .by { .submit(at: $0.count - 3) },
        "cancel": .by { $0.count == 2 ? .job(at: 1) : .slots(at: 1, .sum) },
        "job": .always(.job(at: 1)), "payload": .always(.job(at: 1)),
        "result": .always(.job(at: 1)), "output": .always(.job(at: 1)),
        "fail": .always(.job(at: 1)), "giveback": .always(.job(at: 1)),
        "report": .always(.job(at: 1)),
        "retry": .by { $0.count == 2 ? .job(at: 1) : .all(.sum) },
        "drop": .by { $0.count == 2 ? .job(at: 1) : .all(.sum) },
        "done": .by { $0.count == 4 ? .job(at: 1) : afterDone($0) },
        "take": .by { taking($0, from: 0) },
        "observe": .always(.watch), "unobserve": .always(.unwatch),
        "threads": .by { $0.count == 1 ? .all(.threads) : .here },
        "jobs": .always(.all(.jobs)), "failures": .always(.all(.failures)),
        "schedules": .always(.all(.schedules)), "unschedule": .always(.all(.sum)),
    ]

    /// The commands that each node executes itself: their answers are about this node alone.
    private static let stayingNames: Set<String> = [
        "bulk", "workers", "events", "selectors", "ping", "echo", "hello", "auth",
        "client", "select", "reset", "quit", "multi", "exec", "discard", "info", "command",
        "config", "shutdown", "backup", "reload", "nodes", "link", "acl", "page", "operations",
    ]

    /// A TAKE for one thread goes to its owner.
    private static func taking(_ command: Command, from start: Int) -> CommandTarget {
        own(command, from: start).map { .thread(at: $0) } ?? .take(from: start)
    }

    /// A worker that owns a thread gets its next job from the node of the last one.
    private static func afterDone(_ command: Command) -> CommandTarget {
        let isTake = command.matches(3, "THEN") && command.matches(4, "TAKE")
        return isTake && own(command, from: 4) == nil ? .doneThenTake : .job(at: 1)
    }

    /// The place of the thread that a TAKE owns.
    private static func own(_ command: Command, from start: Int) -> Int? {
        var index = start + 1
        while index + 1 < command.count, !command.matches(index, "FROM") {
            if command.matches(index, "OWN") { return index + 1 }
            let isFlag = command.matches(index, "STOPS") || command.matches(index, "TRACE")
            index += isFlag ? 1 : 2
        }
        return nil
    }
}
