// One program played on both machines, and where they differ.

import Kernel
import RunLoopsTesting
import Support

/// The events of one play of a program.
struct Play: Sendable {
    let trace: [String]
    /// Why chance may have had a part in it: the kernel kept the thread from running for too long.
    let fault: String?
}

/// Two traces of one program, side by side.
struct Comparison {
    let ours: [String]
    let theirs: [String]
    /// How often the program was played.
    let plays: Int
    /// Why it may differ by chance, although it was played at the slowest pace.
    let fault: String?
    /// The rule that ended the comparison; nil when it went to the end.
    let rule: Rule?
    /// Where they first differ; nil when they agree.
    let difference: Int?

    /// Plays a program on both machines, each on a thread of its own.
    ///
    /// Where the kernel kept a thread from running until something was late, and so what was
    /// observed is chance, it is played again at half the pace, and at the slowest again and again.
    /// What is late by as many units in three slow plays was not held up: it is late.
    ///
    /// - Parameter kind: what is compared with CFRunLoop: ours, or a mutant of it.
    static func of<Ours: Machine>(
        _ program: Program, on kind: Ours.Type = OurMachine.self
    ) throws -> Comparison {
        var unit = Duration.milliseconds(1)
        var plays = 0
        var last: Comparison?
        var sameCount = 0
        var slowCount = 0
        while true {
            let pace = unit
            let ours = try onNewThread { Player.play(program, on: Ours.self, unit: pace) }
            let theirs = try onNewThread {
                Player.play(program, on: CoreFoundationMachine.self, unit: pace)
            }
            plays += 1
            let comparison = Comparison(ours: ours, theirs: theirs, plays: plays)
            let isVoid = comparison.difference != nil && comparison.fault != nil
            let isSame = last?.ours == comparison.ours && last?.theirs == comparison.theirs
            sameCount = isSame && unit > .milliseconds(15) ? sameCount + 1 : 0
            last = comparison
            if !isVoid || sameCount == 2 || slowCount == 10 { return comparison }
            if unit > .milliseconds(100) { slowCount += 1 } else { unit *= 2 }
        }
    }

    private init(ours: Play, theirs: Play, plays: Int) {
        self.ours = ours.trace
        self.theirs = theirs.trace
        self.plays = plays
        fault = ours.fault ?? theirs.fault
        let stop = Rule.first(in: ours.trace)
        rule = stop?.rule
        let end = stop?.index ?? max(ours.trace.count, theirs.trace.count)
        let different = (0..<end).first { index in
            index >= ours.trace.count || index >= theirs.trace.count
                || ours.trace[index] != theirs.trace[index]
        }
        // No rule makes up for a descriptor that is handled although there is nothing to read.
        difference = different ?? ours.trace.firstIndex { $0.hasSuffix(Self.inVain) }
    }

    /// How the trace tells of a descriptor that was not ready when its port was called.
    static let inVain = "is not ready any more"

    /// The compared part of the trace.
    var comparedWords: ArraySlice<String> {
        ours[..<(Rule.first(in: ours)?.index ?? ours.count)]
    }

    /// Both traces from a little before the difference.
    var report: String {
        guard let difference else { return "no difference" }
        let start = max(0, difference - 12)
        func part(_ trace: [String]) -> String {
            trace.enumerated().dropFirst(start).prefix(24).map { index, word in
                "  \(index == difference ? ">" : " ") \(word)"
            }.joined(separator: "\n")
        }
        let late = fault.map { "\nheld up: \($0)" } ?? ""
        return "ours:\n\(part(ours))\nCFRunLoop:\n\(part(theirs))\(late)"
    }
}
