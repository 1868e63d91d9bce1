// A timer of a program as our loop's time-out: whether the program uses it as one, and what stands
// in for the timer then.

import Kernel
import RunLoops

/// A time-out with what a timer has besides: a date before it is scheduled, and a time after.
final class TimeoutItem: Sendable {
    private struct State {
        var date: Instant
        /// Where it is; nil before it was added and after it was removed.
        var mode: ModeName?
        /// Nil while it is called.
        var timeout: ThreadRunLoop.Timeout?
        var isFiring = false
        var isValid = true
    }

    private final class Box {
        var state: State

        init(_ state: State) { self.state = state }
    }

    private let loop = ThreadRunLoop.current
    private let box: Confined<Box>
    private let call: @Sendable () -> Void

    init(at date: Instant, _ call: @escaping @Sendable () -> Void) {
        box = Confined(Box(State(date: date)), to: .current)
        self.call = call
    }

    private var state: State {
        get { box.value.state }
        set { box.value.state = newValue }
    }

    var isValid: Bool { state.isValid }
    var date: Instant { state.date }

    func isIn(_ mode: ModeName) -> Bool { state.mode == mode }

    func add(to mode: ModeName) {
        guard state.isValid, state.mode == nil else { return }
        state.mode = mode
        guard !state.isFiring else { return }
        state.timeout = loop.schedule(at: state.date, in: mode.ours) { [unowned self] in fire() }
    }

    func remove(from mode: ModeName) {
        guard state.mode == mode else { return }
        leave()
    }

    func invalidate() {
        state.isValid = false
        leave()
    }

    private func leave() {
        state.mode = nil
        if let timeout = state.timeout {
            precondition(loop.cancel(timeout), "a time-out that is pending can be cancelled")
        }
        state.timeout = nil
    }

    func setDate(_ date: Instant) {
        state.date = date
        if let timeout = state.timeout { state.timeout = loop.reschedule(timeout, at: date) }
    }

    private func fire() {
        if let timeout = state.timeout {
            precondition(!loop.cancel(timeout), "a time-out that is called can't be cancelled")
        }
        state.timeout = nil
        state.isFiring = true
        call()
        state.isFiring = false
        invalidate()
    }
}

extension Program {
    /// Whether a timer is used as our time-outs can be.
    ///
    /// It fires once, is only ever put into one mode, by the loop's own thread, and does not run
    /// the loop as it is called, which could tell that it is no longer in the mode that its own
    /// callout has taken it from. Nor is it set while timers are called: one that is due would not
    /// be called in that round any more, since to set a time-out is to schedule it anew.
    func isTimeout(_ index: Int) -> Bool {
        guard case .timer(_, every: .once) = items[index].kind else { return false }
        let own = items[index].scripts.flatMap { $0.flatMap(\.withThoseInBlocks) }
        if own.contains(where: { if case .run = $0 { true } else { false } }) { return false }
        var modes: Set<ModeName> = []
        let scripts = items.flatMap(\.allScripts) + [main]
        for operation in scripts.flatMap({ $0.flatMap(\.withThoseInBlocks) }) {
            switch operation {
            case .add(index, let mode): modes.insert(mode)
            case .changeFromElsewhere(let change) where change.item == index: return false
            case .run(_, .sleeps(let endings), _)
            where endings.contains(where: { $0.act.mentions(index) }):
                return false
            default: break
            }
        }
        return modes.count == 1 && !modes.contains(.common) && !maySetWhileTimersFire(index)
    }

    /// Whether a timer's callout sets the date of another one, or something that it runs the loop
    /// for.
    private func maySetWhileTimersFire(_ index: Int) -> Bool {
        let timersRun = items.contains { item in
            item.isTimer
                && item.scripts.contains { script in
                    script.contains { if case .run = $0 { true } else { false } }
                }
                || (item.whenScheduled + item.whenCancelled).contains {
                    if case .run = $0 { true } else { false }
                }
        }
        let setters = items.indices.filter { $0 != index && (timersRun || items[$0].isTimer) }
        var operations = setters.flatMap { items[$0].scripts.flatMap { $0 } }
        operations += items.flatMap { $0.whenScheduled + $0.whenCancelled }
        if timersRun { operations += main.filter { $0.block != nil } }
        return operations.flatMap(\.withThoseInBlocks).contains {
            if case .setDate(index, _) = $0 { true } else { false }
        }
    }

    /// How many of its timers are.
    var timeoutCount: Int { items.indices.count(where: isTimeout) }
}

extension Operation {
    /// The block that it queues.
    fileprivate var block: Block? {
        switch self {
        case .enqueue(let block, _), .perform(let block, _): block
        default: nil
        }
    }

    /// It, and what the block does that it enqueues.
    fileprivate var withThoseInBlocks: [Operation] {
        guard let block else { return [self] }
        return [self] + block.script.flatMap(\.withThoseInBlocks)
    }
}
