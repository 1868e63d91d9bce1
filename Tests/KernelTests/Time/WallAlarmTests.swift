// Proves that an alarm on the wall clock rings when its time has come, and not before.

import Glibc
import Kernel
import Testing

@Suite struct `An alarm on the wall clock` {
    private func isReadable(_ alarm: borrowing WallAlarm, within milliseconds: CInt) -> Bool {
        var watched = pollfd(
            fd: alarm.descriptor.number, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&watched, 1, milliseconds) == 1
    }

    @Test func `rings at its time, once`() throws {
        let alarm = try WallAlarm()
        let time = WallClock.unixMilliseconds() + 30
        try alarm.set(to: time)
        let hasRung = isReadable(alarm, within: 60_000)
        #expect(hasRung)
        #expect(WallClock.unixMilliseconds() >= time)
        let first = try alarm.next()
        #expect(first == .rang)
        let second = try alarm.next()
        #expect(second == nil)
    }

    @Test func `rings at once if its time has passed, and never if it has none`() throws {
        let alarm = try WallAlarm()
        let hasRungUnset = isReadable(alarm, within: 0)
        #expect(!hasRungUnset)
        try alarm.set(to: -1)
        let hasRung = isReadable(alarm, within: 60_000)
        #expect(hasRung)
        try alarm.set(to: WallClock.unixMilliseconds() + 3_600_000)
        try alarm.set(to: WallAlarm.never)
        let event = try alarm.next()
        #expect(event == nil)
    }
}
