// The blocking client's commands about schedules.

extension WorkerClient {
    /// Makes a job again and again.
    ///
    /// A schedule of this name that a client gave is replaced; with the same rhythm, the new one
    /// goes on from where the old one is.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 of the characters `A-Z a-z 0-9 _ . -`.
    ///   - rhythm: when.
    ///   - thread: the name of a thread or pool, or of a pool's member.
    ///   - selector: what handles its jobs.
    ///   - payload: what the handler gets, at most 64 KB.
    ///   - options: what becomes of missed runs, and how its jobs are to be performed.
    /// - Throws: `.daemon` with NOTHREAD, NOSELECTOR, BUSY or SHUTTINGDOWN, or ERR for a rhythm
    ///   that can't be.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has written it down, if it keeps jobs in a file.
    public func schedule(
        _ name: String, _ rhythm: ScheduleRhythm, onThread thread: String, selector: String,
        payload: [UInt8] = [], options: ScheduleOptions = ScheduleOptions()
    ) throws(WorkerClientError) {
        try run(.schedule(name, rhythm, thread, selector, payload, options))
    }

    /// Ends a schedule that a client gave; jobs that it has made stay.
    ///
    /// - Returns: whether there was one of this name.
    /// - Throws: `.daemon` with ERR for one of the configuration, or BUSY.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has written it down, if it keeps jobs in a file.
    public func unschedule(_ name: String) throws(WorkerClientError) -> Bool {
        try run(.unschedule(name)) > 0
    }

    /// Every schedule, in the order of their names.
    ///
    /// - Throws: the error that there is no connection.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func schedules() throws(WorkerClientError) -> [ScheduleDescription] {
        try run(.schedules)
    }
}
