// Proves where a schedule goes on when the clock was set back, and when that was put right.

import Jobs
import Testing

@Suite struct `The progress of a schedule` {
    private static let hour: Int64 = 3_600_000
    /// Since midnight, at ten.
    private let ten: ScheduleProgress

    init() {
        var progress = ScheduleProgress(since: 0)
        progress.through = 10 * Self.hour
        ten = progress
    }

    private func following(
        _ hours: [Int64], tolerance: Int64 = hour, from start: ScheduleProgress? = nil
    ) -> ScheduleProgress {
        var progress = start ?? ten
        for hour in hours {
            progress.follow(clockAt: hour * Self.hour, tolerance: tolerance)
        }
        return progress
    }

    @Test func `stays as it is while the clock goes on, or is set back by what is tolerated`() {
        #expect(following([10, 20]) == ten)
        #expect(following([9]) == ten)
    }

    @Test func `begins anew if the clock was set back by more`() {
        let back = following([4])
        #expect((back.since, back.through) == (4 * Self.hour, 4 * Self.hour))
        let period = following([9], tolerance: 0)
        #expect((period.since, period.through) == (9 * Self.hour, 9 * Self.hour))
    }

    @Test func `goes on from where it was when the clock is put right`() {
        #expect(following([4, 11]) == ten)
        // However often it was wrong, and however far it has come meanwhile.
        #expect(following([4, 2, 11]) == ten)
        var wrong = following([4])
        wrong.through = 8 * Self.hour
        #expect(following([2, 11], from: wrong) == ten)
    }

    @Test func `goes on from where it was if the clock was ahead before it was behind`() {
        var ahead = ten
        ahead.through = 13 * Self.hour
        let right = following([10], from: ahead)
        #expect(right.through == 10 * Self.hour)
        #expect(following([8, 10], from: right) == right)
        // Runs of the wrong time do not happen again either.
        #expect(following([8, 10, 14], from: right).through == 13 * Self.hour)
    }

    @Test func `is its own when the clock comes there by itself`() {
        var back = following([4])
        back.through = 10 * Self.hour
        let later = following([11], from: back)
        #expect((later.since, later.through) == (4 * Self.hour, 10 * Self.hour))
    }

    @Test func `is what has run since when the clock is not put right as far as it was`() {
        var back = following([4])
        back.through = 5 * Self.hour
        let later = following([9], from: back)
        #expect(later.through == 5 * Self.hour)
    }
}
