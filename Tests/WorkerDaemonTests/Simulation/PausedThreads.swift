// Which threads of a simulation are paused, as far as its client knows: the daemon's end changes
// nothing about it, but it may take with it the answer to the last command.

import RESP

/// The threads that are paused.
struct PausedThreads {
    private var paused: Set<String> = []
    /// Threads in an unknown state: the answer to a pause or a resume has not come.
    private var doubtful: Set<String> = []
    /// Threads that were steered in this step: a job may have been on its way to them.
    private var steered: Set<String> = []

    func contains(_ thread: String) -> Bool { paused.contains(thread) }

    /// Whether a thread goes on with its waiting jobs.
    func goesOn(_ thread: String) -> Bool {
        !paused.contains(thread) && !doubtful.contains(thread)
    }

    /// A pause or a resume is asked for.
    mutating func ask(_ thread: String) {
        paused.remove(thread)
        doubtful.insert(thread)
    }

    /// It was answered.
    mutating func answered(_ thread: String, isPaused: Bool) {
        doubtful.remove(thread)
        steered.insert(thread)
        if isPaused { paused.insert(thread) }
    }

    /// All jobs that were on their way have come to their threads, or died.
    mutating func allHaveArrived() { steered.removeAll() }

    /// Says whether a job may not have begun on a thread.
    func checkBegin(of job: UInt64, on thread: String) throws {
        guard paused.contains(thread), !steered.contains(thread) else { return }
        throw SimulationFault("job \(job) began on \(thread), which is paused")
    }

    /// Compares what THREADS says after a restart with what is known; learns what is not.
    mutating func check(_ threads: RESPValue) throws {
        for thread in threads.elements ?? [] {
            let name = thread["name"]?.text ?? ""
            let isPaused = ["paused", "pausing"].contains(thread["state"]?.text)
            if doubtful.remove(name) != nil {
                if isPaused { paused.insert(name) }
            } else if isPaused != paused.contains(name) {
                throw SimulationFault("\(name) is \(isPaused ? "" : "not ")paused after a restart")
            }
        }
    }
}
