// The changes of a reload in the running service.

internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops

extension Service {
    /// Applies the difference to a configuration that was read and checked.
    ///
    /// - Parameter whenApplied: called on this thread when all is applied and kept, or with the
    ///   reason why not all of it is.
    func apply(
        _ difference: ConfigurationDifference, _ read: ReadConfiguration,
        whenApplied: @escaping (WireError?) -> Void
    ) {
        let change: ServingChange
        do throws(SystemError) {
            change = try ServingChange(difference, read.handlers, driver)
        } catch {
            return whenApplied(
                WireError(.busy, "there is no room for the threads: \(error): nothing has changed"))
        }
        let opened: [Door]
        do {
            opened = try openDoors(difference.after.listen, read.certificates)
        } catch {
            return whenApplied(
                WireError(.err, "can't listen: \(error): nothing has changed"))
        }
        for door in opened { log.notice("listening on \(door.address)") }
        configuration = difference.after
        apply(read.users)
        web = WebSite(names: configuration.listen.http.names)
        log.setLevel(configuration.log.level)
        backups.directory = configuration.backups
        applyLimits()
        closeOtherDoors(than: configuration.listen)
        showCard()
        change.begin { [self] error in
            if let error { return whenApplied(WireError(error)) }
            beginFigures()
            // Not before: their threads and handlers are there.
            schedules.apply(difference.schedules)
            driver.confirm { fault in
                whenApplied(fault.map { WireError(JobError.storeFailed($0)) })
            }
        }
    }

    /// Figures begin with the first door of HTTP.
    private func beginFigures() {
        if driver.figures == nil, configuration.listen.http.isServed {
            driver.figures = AttemptFigures(
                groups: driver.groupsByIndex, selectors: driver.selectorNames)
        }
        live.restart()
    }

    /// Gives each client the rights that its user has now; clients of removed users have to leave,
    /// and those with a stream, which began with the rights before.
    private func apply(_ book: UserBook) {
        users = book
        pages.renew(book.present)
        for session in sessions.values {
            let doorUser = session.doorUser.flatMap { _ in
                book.user(of: session.ends, dialect: session.dialect)
            }
            let isOfDoor = session.user === session.doorUser
            guard let user = isOfDoor ? doorUser : book.present(session.user) else {
                session.close("its user \(session.user.name) was removed")
                continue
            }
            guard user.hasRights(of: session.user) || !isToldOfChanges(session) else {
                session.close("the rights of its user \(user.name) have changed")
                continue
            }
            if !user.hasRights(of: session.user) { endTake(of: session) }
            session.renew(user, atDoor: doorUser)
        }
    }

    /// Ends a TAKE that waits with null: the next one is asked for with other rights.
    private func endTake(of session: Session) {
        session.links?.round?.end()
        _ = driver.exchange.unblock(session.number, withError: false)
    }

    /// Whether a client reads a stream or observes jobs.
    private func isToldOfChanges(_ session: Session) -> Bool {
        session.stream != nil
            || driver.scheduler.audience.watches.count(of: session.number) > 0
    }

    private func applyLimits() {
        let limits = configuration.limits
        sessionLimits = SessionLimits(limits)
        strangers.limit(placeCount: limits.connections)
        streams.countMax = limits.streams
        driver.keepEvents(within: limits, epoch: epoch)
        driver.children.outputs.limit(byteCount: limits.retainedOutputBytes)
        driver.input { $0.limit(StoreLimits(limits)) }
    }
}

extension SessionLimits {
    /// The limits of connections that come in under these limits.
    init(_ limits: Configuration.Limits) {
        self.init(
            command: CommandLimits(argumentByteCountMax: limits.payloadBytes),
            bodyByteCountMax: WebSite.bodyByteCountMax(payloadByteCountMax: limits.payloadBytes),
            pendingReplyCountMax: limits.pipeline,
            outputByteCountSoftMax: min(1 << 20, limits.outputBacklogBytes),
            outputByteCountMax: limits.outputBacklogBytes)
    }
}
