// Where the two run loops are meant to differ, or where CFRunLoop leaves it open what happens: few,
// each with its reason. Nothing is skipped: traces are compared up to the place where a rule
// applies, which the player's books find out, the same for both machines.

/// A reason for which traces are compared only so far.
enum Rule: String, CaseIterable {
    /// CFRunLoop keeps blocks to itself while it runs one of them: a run nested in a block finds
    /// none of those that wait. Ours finds them, since it may be waiting for one.
    case blocksInNestedRun
    /// CFRunLoop takes the last of the sources signalled at the start of a round for all: if that
    /// one was not performed after all, it sleeps on handled work. Apple's guide says never to.
    case lastSourceCounts
    /// CFRunLoop takes one event from each sleep: with a wake-up pending and a timer due, the
    /// kernel decides which, and what becomes due while the observers are told of the waking is for
    /// the next pass. Ours looks at the clock in each pass: a wake-up never puts off a timer.
    case oneEventForEachPass
    /// CFRunLoop on Linux leaves the kernel's timer armed when the last timer of a mode leaves it,
    /// or is called together with another: it wakes for nothing, once. Ours sleeps on.
    case staleTimer
    /// CFRunLoop calls a timer that another one of the same round has taken out of the mode, if it
    /// is in some mode still or again. Ours does not: in this mode it is not to be called.
    case timerLeftMode
    /// CFRunLoop calls a timer of the round that a nested run has called meanwhile once more, if it
    /// is due again by then. Ours leaves the new date to the next pass.
    case calledInNestedRun
    /// CFRunLoop sends itself one wake-up for a run's time limit. A nested run takes it, and the
    /// outer one sleeps past its limit for ever. Ours does not even begin to sleep.
    case limitOfOuterRun
    /// Ours makes a pass more where a wake-up may have been meant for another run: it keeps one
    /// that is sent outside of runs, or by a callout after the sleep, and after a nested run it
    /// looks once more before it sleeps. A pass too many costs little, one too few loses work.
    case onePassMore
    /// CFRunLoop is woken by the queueing of a block, and makes a pass for it although the one
    /// under way runs it. Ours sees that, and keeps no wake-up.
    case wakeSaved
    /// CFRunLoop tells observers of the waiting although a port is ready. Ours does not, by Apple's
    /// guide, and the player hides it from both; but an observer of one time has had its time.
    case readyBeforeWaiting
    /// CFRunLoop takes a port's event before it tells that it woke: an observer that then removes
    /// or signals the port, or runs the loop, finds it gone. Ours leaves it until the port is
    /// handled.
    case eventTakenEarly
    /// CFRunLoop tells once of all that has come to a descriptor, and leaves it to the handler to
    /// take all. Ours tells in each pass for as long as there is something to read.
    case moreMessages
    /// Ours handles a port without a descriptor in the pass in which a timer or the observer of the
    /// waking signals it; CFRunLoop, whose ports all are descriptors, in the next.
    case signalInSamePass
    /// CFRunLoop does not arm a timer that sets its own date in its callout but in the mode in
    /// which it was called: a run in another of its modes sleeps past the date. Ours wakes for it.
    case ownDateInOtherMode
    /// CFRunLoop sleeps until the time limit in a mode that held nothing but a block, once the
    /// block has run. Ours wakes itself and is finished, by Apple's guide.
    case blockWasAll
    /// CFRunLoop changes its modes at once when another thread asks for it in a pass, under a lock.
    /// Ours does when the pass comes to its blocks, or has come to its end: in between observers,
    /// sources, timers and ports are those that there were.
    case changeByOthers
    /// CFRunLoop takes the moment at which a timer's date is set for a date that is past, and
    /// begins its grid there. Ours keeps to the grid of the date, by Apple's guide: it always falls
    /// on the original intervals.
    case pastDate

    /// The first rule that applies in a trace, and where.
    static func first(in trace: [String]) -> (index: Int, rule: Rule)? {
        for (index, word) in trace.enumerated() {
            guard word.hasPrefix("rule ") else { continue }
            if let rule = Rule(rawValue: String(word.dropFirst(5))) { return (index, rule) }
        }
        return nil
    }
}
