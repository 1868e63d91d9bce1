// Putting sources, ports, timers and observers into modes and taking them out again.

public import Kernel
internal import Structures

extension ThreadRunLoop {
    /// Adds a source to a mode, or with `.common` to every common mode, those to come too.
    ///
    /// From another thread the loop is woken to do it.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    public func add(_ source: Source, to mode: Mode = .default) { addFromAnywhere(source, mode) }

    /// Adds an observer to a mode, or with `.common` to every common mode, those to come too.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    public func add(_ observer: Observer, to mode: Mode = .default) {
        addFromAnywhere(observer, mode)
    }

    /// Adds a timer to a mode, or with `.common` to every common mode, those to come too.
    ///
    /// - Parameters:
    ///   - timer: what is added.
    ///   - mode: where to.
    ///   - fileID: the caller's file, noted while the loop is measured.
    ///   - line: the caller's line.
    /// - Thread: any thread.
    /// - Blocks: never.
    /// - Complexity: O(log n) in the timers of the mode.
    public func add(
        _ timer: Timer, to mode: Mode = .default,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        timer.begin(in: self)
        if isMeasured { noteTimer(timer, fileID, line) }
        addFromAnywhere(timer, mode)
    }

    /// Out of line, as few timers are added to a loop that is measured.
    @inline(never)
    private func noteTimer(_ timer: Timer, _ fileID: StaticString, _ line: UInt) {
        let location = CodeLocation(fileID: fileID, line: line)
        onThread { timer.noteAdded(at: location) }
    }

    /// Adds a port to a mode, or with `.common` to every common mode, those to come too.
    ///
    /// - Throws: EEXIST when its descriptor has a port in that mode, EPERM when the kernel can't
    ///   watch such a descriptor (a regular file or `/dev/null`, which are always ready to be
    ///   read), EBADF when it is not open, ENOMEM, ENOSPC or EMFILE when the kernel has no room.
    /// - Thread: any thread for a port without a descriptor; the loop's own thread for one with a
    ///   descriptor, because only there the error can be told.
    /// - Blocks: never.
    public func add(_ port: Port, to mode: Mode = .default) throws(SystemError) {
        guard port.watchedDescriptor != nil else {
            addFromAnywhere(port, mode)
            return
        }
        preconditionOnLoop()
        try put(port, into: mode)
    }

    /// Adds a source, or a port without a descriptor: it asks nothing of the kernel and so can't
    /// fail.
    ///
    /// - Returns: false when the loop's thread has ended: it takes nothing any more.
    /// - Thread: any thread.
    /// - Blocks: never.
    @discardableResult
    package func add(signalled item: SignalledItem, to mode: Mode = .default) -> Bool {
        require(
            (item as? Port)?.watchedDescriptor == nil, "watching a descriptor can fail")
        return addFromAnywhere(item, mode)
    }

    /// Takes an item out of a mode; it stays valid.
    ///
    /// With `.common`, what was added to the common modes leaves each of them; what was not stays
    /// where it is.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    public func remove(_ item: Item, from mode: Mode = .default) {
        onThread { [self] in
            guard mode == .common else {
                // Not made for it: there is nothing in a mode that does not exist.
                if let state = existingState(of: mode) { item.part(from: state) }
                return
            }
            guard commonItems.contains(item) else { return }
            leaveCommonItems(item)
            // Its callout may put it back as it leaves one of them.
            for mode in commonModes where !commonItems.contains(item) {
                item.part(from: state(of: mode))
            }
        }
    }

    /// Whether an item is in a mode, or with `.common` was added to the common modes.
    ///
    /// - Thread: the loop's own thread.
    public func contains(_ item: Item, in mode: Mode = .default) -> Bool {
        preconditionOnLoop()
        if mode == .common { return commonItems.contains(item) }
        return item.loop === self && item.modes.contains(mode)
    }

    /// Makes a mode common: it gets everything that was added to the common modes.
    ///
    /// Traps if it can't watch a descriptor of theirs, for which it has a port already, say.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    /// - Source: CFRunLoopAddCommonMode.
    public func addCommonMode(_ mode: Mode) {
        onThread { [self] in
            require(mode != .common, "the common modes can't be one of themselves")
            guard !commonModes.contains(mode) else { return }
            commonModes.append(mode)
            // One that entered before it may have taken it out.
            for item in commonItems.inSequence where commonItems.contains(item) {
                putOrTrap(item, into: mode)
            }
        }
    }

    /// When the next timer or time-out of a mode is due; nil when none waits, as those don't that
    /// are being called.
    ///
    /// - Thread: the loop's own thread.
    /// - Source: CFRunLoopGetNextTimerFireDate.
    public func nextTimerFireDate(in mode: Mode = .default) -> Instant? {
        preconditionOnLoop()
        return existingState(of: mode)?.timerHeap.firstFire.map { Instant(nanoseconds: $0) }
    }

    /// Does something on the loop's thread: at once when that is the caller's, else by a request.
    ///
    /// - Returns: false when the loop's thread has ended: it has let go of the items of its modes
    ///   already.
    @discardableResult
    package func onThread(_ action: @escaping @Sendable () -> Void) -> Bool {
        if isOnThread {
            action()
            return true
        }
        if requests.push(.action(action)) == .closed { return false }
        poller.wake()
        return true
    }

    @discardableResult
    private func addFromAnywhere(_ item: Item, _ mode: Mode) -> Bool {
        // Asked here too, though `onThread` asks: on the loop's own thread no closure is made.
        guard isOnThread else { return onThread { [self] in putOrTrap(item, into: mode) } }
        putOrTrap(item, into: mode)
        return true
    }

    private func put(_ item: Item, into mode: Mode) throws(SystemError) {
        guard item.isValid else { return }
        // First what most ask for: the common modes never are one that exists.
        if let state = existingState(of: mode) { return try item.join(state, of: self) }
        guard mode == .common else { return try item.join(state(of: mode), of: self) }
        let before = item.modes
        let wasCommon = commonItems.contains(item)
        // First of all: as it enters one of them, its callout may take it out again, or make
        // another common. The list tells, and not the mark: once out it may be in another loop,
        // whose thread marks it.
        commonItems.append(item)
        item.isCommon = true
        do throws(SystemError) {
            for mode in commonModes where commonItems.contains(item) {
                try item.join(state(of: mode), of: self)
            }
        } catch {
            if !wasCommon { leaveCommonItems(item) }
            for mode in commonModes where !before.contains(mode) {
                item.part(from: state(of: mode))
            }
            throw error
        }
        // It may have been made invalid before it entered the first, by a thread that saw it
        // nowhere.
        if !item.isValid { leaveCommonItems(item) }
    }

    /// Notes that an item is none of the common ones any more; on the loop's thread.
    func leaveCommonItems(_ item: Item) {
        if commonItems.remove(item) { item.isCommon = false }
    }

    private func putOrTrap(_ item: Item, into mode: Mode) {
        do throws(SystemError) {
            try put(item, into: mode)
        } catch {
            fatalError("mode \(mode) can't watch a port that is common: \(error)")
        }
    }

    /// How often the modes are emptied at the end: what leaves may add something in its last
    /// callout, and what always does so stays.
    private static let farewellCountMax = 10

    /// Takes everything out of all modes, which is invalid then; on the loop's thread, when it
    /// ends.
    ///
    /// Last of all the observers of the default mode, the one that was added last first: with them
    /// end the values of `ThreadBound`, which what goes before may use as it goes.
    func takeOutAll() {
        var count = 0
        repeat {
            count += 1
            for state in modes.reversed() {
                state.dropTimeouts()
                // An earlier item may have moved this one to another loop in its last callout.
                for item in state.items where item.isIn(state) { item.invalidate() }
            }
        } while count < Self.farewellCountMax
            && modes.contains { !$0.isEmpty || !$0.observers.isEmpty }
    }
}
