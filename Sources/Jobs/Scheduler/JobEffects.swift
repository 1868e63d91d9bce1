// What the driver of a scheduler has to do, in order. The buffer is reused: an effect is one word, and larger
// values lie in lists beside it, each taken by the next effect of its kind. Inputs that come while the driver
// carries out effects add theirs behind them.

internal import Structures

/// One thing to do.
package enum JobEffect {
    /// Tell the store the next of `commands`; all of one pass are one batch.
    case keep
    /// Tell the store the next of `records`, which may wait some milliseconds for others.
    case record
    /// Give a client the next of `answers`.
    case answer
    /// Tell a client the next of `news`.
    case news
    /// Write the next of `notes` to the log.
    case note
    /// Call the next of `confirmed`: what the driver wanted to be kept is kept, or can't be.
    case confirm
    /// Let the job wait for a thread of its group, unless it was withdrawn since.
    case offer(JobEntry)
    /// Take an attempt from the queue of its group: it was withdrawn, and never begins.
    case retract(AnyObject)
    /// Ask the running job to end, because a client wants it.
    case cancel(JobEntry)
    /// Ask the running job to end, because the daemon shuts down.
    case interrupt(JobEntry)
    /// A client has asked a job to end that does not react.
    case reportStuck(JobEntry)
    /// Say `changed` when the attempt begins or reports next.
    case listen(JobEntry)
    /// Give a client the rows of a listing, and then call `goOn` if the client wants more.
    case rows(Listing)
    /// The client of this request waits for a job's end, not for a look-up.
    case awaitsEnd
    /// Jobs have left: there may be room for others.
    case roomMayBe
}

/// A line for the log.
package struct SchedulerNote: Sendable, Equatable {
    package let level: StoreLog.Level
    package let text: String
}

/// The effects of one or more inputs.
package struct JobEffects: ~Copyable {
    /// Whether the driver carries them out: then an input only adds to them.
    package var areBeingCarriedOut = false
    package private(set) var list: [JobEffect] = []
    package private(set) var commands: [StoreCommand] = []
    package private(set) var records: [StoreCommand] = []
    package private(set) var answers: [(reply: ReplyToken, answer: JobAnswer)] = []
    package private(set) var news: [(client: UInt64, news: JobUpdate)] = []
    package private(set) var notes: [SchedulerNote] = []
    package private(set) var confirmed: [(tag: UInt64, fault: StoreFault?)] = []
    package private(set) var waiting: [ReplyToken] = []

    package init() {}

    package var isEmpty: Bool { list.isEmpty }

    /// Forgets all effects and keeps the memory.
    package mutating func removeAll() {
        areBeingCarriedOut = false
        // Mostly it is one or two, and to remove them one by one is several times as fast.
        if list.count <= 8 {
            while list.popLast() != nil {}
        } else {
            list.removeAll(keepingCapacity: true)
        }
        if !commands.isEmpty { commands.removeAll(keepingCapacity: true) }
        if !records.isEmpty { records.removeAll(keepingCapacity: true) }
        if answers.count <= 8 {
            while answers.popLast() != nil {}
        } else {
            answers.removeAll(keepingCapacity: true)
        }
        if !news.isEmpty { news.removeAll(keepingCapacity: true) }
        if !notes.isEmpty { notes.removeAll() }
        if !confirmed.isEmpty { confirmed.removeAll() }
        if !waiting.isEmpty { waiting.removeAll(keepingCapacity: true) }
    }

    mutating func append(_ effect: JobEffect) { list.append(effect) }

    mutating func keep(_ command: consuming StoreCommand) {
        commands.append(command)
        list.append(.keep)
    }

    mutating func record(_ command: consuming StoreCommand) {
        records.append(command)
        list.append(.record)
    }

    mutating func answer(_ reply: ReplyToken, _ answer: consuming JobAnswer) {
        answers.append((reply, answer))
        list.append(.answer)
    }

    mutating func tell(_ client: UInt64, _ what: JobUpdate) {
        news.append((client, what))
        list.append(.news)
    }

    mutating func note(_ level: StoreLog.Level, _ text: String) {
        notes.append(SchedulerNote(level: level, text: text))
        list.append(.note)
    }

    mutating func confirm(_ tag: UInt64, _ fault: StoreFault?) {
        confirmed.append((tag, fault))
        list.append(.confirm)
    }

    mutating func awaitEnd(_ reply: ReplyToken) {
        waiting.append(reply)
        list.append(.awaitsEnd)
    }
}
