// How the parts behind the doors are put together: for the daemon that users run, and for the one
// that is driven pass by pass.

internal import Jobs
internal import Kernel
internal import RunLoops

extension Service {
    /// Puts a service together on the calling thread's loop; it has no door yet, and nothing runs.
    ///
    /// - Parameters:
    ///   - nextNumber: what the next job will be numbered.
    ///   - window: how much of the store's jobs is in memory at a time.
    ///   - shutdownAsked: told that a client wants the daemon to go down.
    /// - Throws: when the system has no descriptor for the alarm of schedules.
    static func assemble(
        _ configuration: Configuration, _ handlers: [String: Handler], _ groups: [WorkerGroup],
        _ store: any JobStore, nextNumber: UInt64, window: WindowLimits = WindowLimits(),
        children: ChildRegistry, users: UserBook,
        clocks: Clocks = .system, log: Log,
        shutdownAsked: @escaping @Sendable (ShutdownMode) -> Void
    ) throws(SystemError) -> Service {
        let loop = ThreadRunLoop.current
        let driver = SchedulerDriver(
            groups: groups, handlers: handlers, limits: StoreLimits(configuration.limits),
            nextNumber: nextNumber, store: store, window: window, children: children, loop: loop,
            clocks: clocks, log: log)
        return Service(
            configuration: configuration, driver: driver,
            schedules: try ScheduleRunner(driver: driver, loop: loop, log: log), users: users,
            loop: loop, log: log, shutdownAsked: shutdownAsked)
    }
}
