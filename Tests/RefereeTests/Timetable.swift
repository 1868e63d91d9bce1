// The time of a play: a count of units that moves only in the loop's sleeps, and where the program
// says that the thread is busy. It says when something
// is due by the clock, and notices when the kernel kept the thread from running for so long that
// the clock and the count went apart, which makes the play void: its outcome is chance.

import Foundation
import Kernel

/// The units that went by in a play, and how they map to the clock.
///
/// Timers are due at even units, each at its own, and time limits end at odd ones: no two things
/// are ever due at the same moment, and their order does not depend on how fast the machine is.
struct Timetable {
    /// How long a unit is.
    let unit: Duration
    /// The unit that it is.
    private(set) var now = 0
    /// When unit 0 began; set anew whenever nothing is due shortly.
    private var start = SystemClock().now()
    /// Why the play is void; nil while it counts.
    private(set) var fault: String?

    init(unit: Duration) {
        self.unit = unit
    }

    /// The first unit that is free for a timer, counting `turns` from now.
    ///
    /// - Parameter lane: the timer's own place in a turn, of `lanes`.
    func unit(turns: Int, lane: Int) -> Int {
        let turn = Self.turn
        let offset = 2 * (lane % Self.lanes)
        let next = (now - offset).quotientRoundedDown(by: turn) + turns
        return next * turn + offset
    }

    /// How many timers have a place of their own.
    static let lanes = 3
    /// How many units a turn has.
    static let turn = 2 * lanes

    /// The unit at which a brief time limit that begins now ends.
    var briefLimit: Int { (now / 2) * 2 + 3 }

    /// How long a run may last that is not ended as it should be.
    ///
    /// Many times what its sleeps take. The difference is seen in the trace, instead of a test that
    /// hangs.
    var longestRun: Duration { .seconds(1) + unit * 128 }

    /// When a unit begins, by the clock.
    func date(of unit: Int) -> Instant {
        start.advanced(by: self.unit * unit)
    }

    /// The unit that begins next to a date, by the clock.
    func unit(nextTo date: Instant) -> Int {
        Int((start.duration(to: date) / unit).rounded())
    }

    /// Lets the clock's time and the count begin together: nothing is due shortly.
    mutating func restart() {
        start = SystemClock().now().advanced(by: unit * -now)
    }

    /// The loop has slept until a unit began.
    ///
    /// - Returns: how many units it woke too late, or if negative too early; one is nothing.
    mutating func sleeps(until unit: Int) -> Int {
        now = max(now, unit)
        let late = date(of: unit).duration(to: SystemClock().now()) / self.unit
        if late < 0 { note("it woke before unit \(unit)") }
        if late >= 2 { note("it woke \(Int(late)) units after unit \(unit)") }
        return abs(late) < 2 ? 0 : Int(late)
    }

    /// The unit between two places until which a thread is busy that lets so many of them go by.
    func unit(afterPlaces places: Int) -> Int { now / 2 * 2 + 2 * places + 1 }

    /// Keeps the thread busy until a unit has begun.
    mutating func holdUp(until unit: Int) {
        let ahead = SystemClock().now().duration(to: date(of: unit))
        if ahead > .zero { Thread.sleep(forTimeInterval: ahead / .seconds(1)) }
        now = max(now, unit)
    }

    /// Notices when what the program does as a unit begins was not done promptly.
    mutating func checkStart(of unit: Int) {
        let late = date(of: unit).duration(to: SystemClock().now()) / self.unit
        if late > 0.5 { note("it was busy for \(late) units as unit \(unit) began") }
    }

    /// Notices when it is too late for what is due next to be still ahead.
    mutating func check(next: Int?) {
        guard let next, SystemClock().now() >= date(of: next) else { return }
        note("unit \(next) began while it was busy in unit \(now)")
    }

    private mutating func note(_ what: String) {
        if fault == nil { fault = what }
    }
}

extension Int {
    fileprivate func quotientRoundedDown(by divisor: Int) -> Int {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}
