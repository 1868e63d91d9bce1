// Answers to a program that looks at an item or at the loop, in words that are the same for both
// machines.

import Kernel

/// A look at a machine, with the books that say what time it is.
struct Look {
    let program: Program
    let machine: any Machine
    let books: Books

    /// Whether an item is valid, when it is due, and where it is.
    func words(of item: Int) -> String {
        guard machine.isValid(item) else {
            return "\(program.name(item)) is invalid\(place(of: item))"
        }
        var words = "\(program.name(item)) is valid"
        if program.items[item].isTimer { words += ", due \(time(of: machine.fireDate(of: item)))" }
        return words + place(of: item)
    }

    /// In which mode the loop runs, and when the first timer of each mode is due.
    var wordsOfLoop: String {
        let mode = machine.currentMode?.rawValue ?? "no mode"
        let sleep = machine.isWaiting ? "sleeps" : "is awake"
        let next = ModeName.runnable.map { "\($0.rawValue): \(nextTime(in: $0))" }
        return "the loop is in \(mode), \(sleep), next due \(next.joined(separator: ", "))"
    }

    private func place(of item: Int) -> String {
        var modes = ModeName.allCases.filter { machine.contains(item, in: $0) }
        // CFRunLoopContainsTimer knows nothing of a timer that is common but in no mode.
        if program.items[item].isTimer && modes == [.common] { modes = [] }
        let list = modes.map(\.rawValue).joined(separator: ", ")
        return ", in \(list.isEmpty ? "no mode" : list)"
    }

    /// When the first timer of a mode is due.
    ///
    /// Not asked while one is called: CFRunLoop counts it, for the date for which it is called.
    /// Ours does not, as it waits for nothing.
    private func nextTime(in mode: ModeName) -> String {
        let isOneCalled = books.timers.contains { $1.isFiring && machine.contains($0, in: mode) }
        if isOneCalled { return "unknown" }
        return machine.nextFireDate(in: mode).map { time(of: $0) } ?? "never"
    }

    private func time(of date: Instant) -> String {
        let now = SystemClock().now()
        let unit = books.timetable.unit(nextTo: date)
        if date <= now || unit <= books.timetable.now { return "now" }
        return now.duration(to: date) > rareInterval / 2 ? "one day" : "at unit \(unit)"
    }
}
