// Effects: the work of a scheduler's driver, in order. An effect is one word; larger values are in
// queues beside it, and each effect takes the next one of its kind. The queues keep their memory.
// Inputs that come while the driver carries out effects add theirs behind them.

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
    /// Tell the readers of all changes the next of `changes`.
    case change
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
///
/// The driver takes the next effect, then the value that it names: nothing is copied on its way.
package struct JobEffects: ~Copyable {
    /// Whether the driver carries them out: then an input only adds to them.
    package var areBeingCarriedOut = false
    private var list = FIFO<JobEffect>()
    private var commands = FIFO<StoreCommand>()
    private var records = FIFO<StoreCommand>()
    private var answers = FIFO<(reply: ReplyToken, answer: JobAnswer)>()
    private var news = FIFO<(client: UInt64, news: JobUpdate)>()
    private var changes = FIFO<SchedulerChange>()
    private var notes = FIFO<SchedulerNote>()
    private var confirmed = FIFO<(tag: UInt64, fault: StoreFault?)>()
    private var waiting = FIFO<ReplyToken>()

    package init() {}

    package var isEmpty: Bool { list.isEmpty }

    // MARK: - The driver's part

    /// Takes the next effect; nil if all are taken.
    package mutating func next() -> JobEffect? { list.popFirst() }

    /// Takes the value of a `keep`.
    package mutating func takeCommand() -> StoreCommand { commands.removeFirst() }

    /// Takes the value of a `record`.
    package mutating func takeRecord() -> StoreCommand { records.removeFirst() }

    /// Takes the value of an `answer`.
    package mutating func takeAnswer() -> (reply: ReplyToken, answer: JobAnswer) {
        answers.removeFirst()
    }

    /// Takes the value of a `news`.
    package mutating func takeNews() -> (client: UInt64, news: JobUpdate) { news.removeFirst() }

    /// Takes the value of a `change`.
    package mutating func takeChange() -> SchedulerChange { changes.removeFirst() }

    /// Takes the value of a `note`.
    package mutating func takeNote() -> SchedulerNote { notes.removeFirst() }

    /// Takes the value of a `confirm`.
    package mutating func takeConfirmed() -> (tag: UInt64, fault: StoreFault?) {
        confirmed.removeFirst()
    }

    /// Takes the value of an `awaitsEnd`.
    package mutating func takeWaiting() -> ReplyToken { waiting.removeFirst() }

    // MARK: - The scheduler's part

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

    mutating func change(_ what: SchedulerChange) {
        changes.append(what)
        list.append(.change)
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
