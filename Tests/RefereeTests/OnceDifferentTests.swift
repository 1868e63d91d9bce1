// Programs that once differed, by our fault or the comparison's, each played several times.

import RunLoops
import Testing

/// The program of seed 717962490283 at the time when it differed in half of its plays.
///
/// A timer that repeats was set to "now" in another's callout, and its dates fell together with the
/// other's but for some microseconds: whether both were due in one pass was luck.
private let timersThatFellTogether = Program(
    items: [
        Item(kind: .source(order: -1), scripts: [[.signal(1, .itself)]]),
        Item(kind: .source(order: -3), scripts: []),
        Item(kind: .source(order: 0), scripts: []),
        Item(
            kind: .observer([.beforeTimers, .beforeSources, .exit], repeats: true, order: 7),
            scripts: [
                [.signal(1, .another), .run(.a, .sleeps([]), returnsAfterSource: false)], [],
                [.setDate(6, .soon(2)), .signal(0, .itself)],
            ]),
        Item(kind: .observer(.all, repeats: true, order: 2), scripts: []),
        Item(
            kind: .timer(.soon(1), every: .often(2)),
            scripts: [[.setDate(6, .now), .run(.a, .poll, returnsAfterSource: false)]]),
        Item(kind: .timer(.soon(1), every: .often(2)), scripts: [[.invalidate(3)]]),
    ],
    main: [
        .add(5, .a), .add(6, .standard),
        .run(.standard, .sleeps([byTimer]), returnsAfterSource: false),
        .run(.a, .sleeps([byTimer, byTimer]), returnsAfterSource: false),
        .add(0, .standard), .add(1, .standard), .add(3, .standard), .add(5, .standard),
        .add(6, .common), .invalidate(0), .add(6, .b),
        .run(.standard, .sleeps([]), returnsAfterSource: false), .wakeUp(.itself),
        .enqueue(Block(name: 2, modes: [.common], script: [.add(6, .a)]), .another),
        .enqueue(
            Block(name: 3, modes: [.a], script: [.add(4, .standard), .add(3, .standard)]), .itself),
        .run(.standard, .sleeps([]), returnsAfterSource: false),
        .run(.a, .poll, returnsAfterSource: false), .run(.a, .poll, returnsAfterSource: true),
        .signal(0, .itself), .invalidate(4),
        .run(.a, .sleeps([byTimer]), returnsAfterSource: false), .signal(0, .itself),
        .run(
            .standard, .sleeps([Ending(act: .wakeUp, caller: .itself)]), returnsAfterSource: true),
    ])

/// The same, without all that had no part in it: both timers repeat in one mode, one was set to
/// now.
private let timersInOneMode = Program(
    items: [
        Item(
            kind: .timer(.soon(1), every: .often(2)),
            scripts: [[.setDate(1, .now)], [], [.setDate(1, .now)]]),
        Item(kind: .timer(.soon(1), every: .often(2)), scripts: []),
    ],
    main: [
        .add(0, .a), .add(1, .a),
        .run(.a, .sleeps(Array(repeating: byTimer, count: 8)), returnsAfterSource: false),
    ])

/// A stop and a timer that left its mode both end one sleep, in CFRunLoop: which it takes is open.
///
/// A later run in another mode may still find the other. From seed 9900.
private let stopOrStaleTimer = Program(
    items: [
        Item(
            kind: .observer([.beforeWaiting, .exit], repeats: true, order: -6),
            scripts: [[], [.run(.a, .brief, returnsAfterSource: true)]]),
        Item(kind: .port(order: -7, watchesDescriptor: true), scripts: []),
        Item(kind: .port(order: 2, watchesDescriptor: true), scripts: []),
        Item(kind: .timer(.soon(1), every: .often(2)), scripts: []),
    ],
    main: [
        .add(0, .standard), .add(1, .standard), .add(2, .a), .add(3, .standard),
        .setDate(3, .now), .remove(3, .standard),
        .run(.standard, .sleeps([]), returnsAfterSource: false),
    ])

/// A block was all that a mode held, until an observer of the waiting put a source into it.
///
/// Ours had made up its mind by then. From seed 1961.
private let blockThenSource = Program(
    items: [
        Item(kind: .source(order: -3), scripts: []),
        Item(
            kind: .observer([.beforeWaiting, .exit], repeats: true, order: 1),
            scripts: [[.add(0, .standard)]]),
    ],
    main: [
        .add(1, .standard), .enqueue(Block(name: 4, modes: [.common], script: []), .itself),
        .run(.standard, .brief, returnsAfterSource: false),
    ])

/// A timer that is set in another's callout while both are due: as a time-out of ours it would be
/// for the next round, so it is not played as one.
///
/// From seed 2043.
private let timerSetInItsRound = Program(
    items: [
        Item(kind: .timer(.now, every: .once), scripts: [[.setDate(1, .now)]]),
        Item(kind: .timer(.now, every: .once), scripts: []),
    ],
    main: [
        .add(0, .standard), .add(1, .standard),
        .run(.standard, .poll, returnsAfterSource: false),
    ])

/// A timer of the round is called by a run nested in the round, and is due again when the round
/// comes to it.
///
/// From seed 451877712550.
private let dueAgainInItsRound = Program(
    items: [
        Item(
            kind: .timer(.now, every: .once),
            scripts: [[.run(.standard, .poll, returnsAfterSource: false), .setDate(1, .now)]]),
        Item(kind: .timer(.now, every: .rarely), scripts: []),
    ],
    main: [
        .add(0, .standard), .add(1, .standard),
        .run(.standard, .poll, returnsAfterSource: false),
    ])

/// A mode that another thread makes common holds nothing yet; then an item is added to the common
/// modes.
///
/// Whether it is in that mode at once is open. From seed 891459505159.
private let commonAndThenAdded = Program(
    items: [
        Item(kind: .source(order: 4), scripts: []),
        Item(
            kind: .timer(.soon(1), every: .often(2)),
            scripts: [[.changeFromElsewhere(.makeCommon(.b)), .add(0, .common)]]),
    ],
    main: [.add(1, .standard), .run(.standard, .sleeps([byTimer]), returnsAfterSource: false)])

private let byTimer = Ending(act: .nothing, caller: .itself)

@Suite(.serialized) struct `Programs that once differed` {
    @Test func `dates set to now keep to their own places`() throws {
        for program in [timersThatFellTogether, timersInOneMode] {
            try play(program, times: 10, to: nil)
        }
    }

    @Test func `a date set to now in a round of timers counts in that round`() throws {
        try play(timerSetInItsRound, times: 3, to: nil)
    }

    @Test func `what is open is left to a rule`() throws {
        try play(dueAgainInItsRound, times: 3, to: .calledInNestedRun)
        try play(blockThenSource, times: 3, to: .blockWasAll)
        try play(commonAndThenAdded, times: 3, to: .changeByOthers)
    }

    @Test func `a stop or a stale timer ends a sleep`() throws {
        // Where the machine keeps the thread from running, the time limit passes before the sleep.
        var hasSlept = false
        for _ in 0..<50 where !hasSlept {
            let comparison = try Comparison.of(stopOrStaleTimer)
            #expect(comparison.difference == nil, "\(comparison.report)")
            hasSlept = comparison.rule == .staleTimer
            #expect(hasSlept || comparison.rule == nil, "\(comparison.ours)")
        }
        #expect(hasSlept)
    }

    private func play(_ program: Program, times: Int, to rule: Rule?) throws {
        for _ in 0..<times {
            let comparison = try Comparison.of(program)
            #expect(comparison.difference == nil, "\(program)\n\(comparison.report)")
            #expect(comparison.rule == rule, "\(program)\n\(comparison.ours)")
        }
    }
}
