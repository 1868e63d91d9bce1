// The option UNIQUE, as PERFORM and SCHEDULE have it in common.

internal import Jobs
internal import RESP

/// A unique name with its options, in any order.
struct UniqueArguments {
    let name: UniqueName
    /// Whether the client wants to be told if a job of its name was there already.
    let tellsWhetherNew: Bool
    /// The place behind the option.
    let end: Int

    /// - Parameter rest: the name of the argument behind the options, for errors.
    init(
        _ command: Command, at index: Int, before end: Int, _ rest: String
    ) throws(WireError) {
        let bytes = try JobOptionReader.name(command, at: index, before: end, "UNIQUE", rest)
        var isAgain = false
        var tells = false
        var milliseconds: Int64?
        var next = index + 2
        while next < end {
            if command.matches(next, "TELL"), !tells {
                tells = true
            } else if command.matches(next, "AGAIN"), !isAgain {
                isAgain = true
            } else if command.matches(next, "FOR"), milliseconds == nil {
                guard next + 1 < end else {
                    throw WireError(.err, "FOR needs a number, and \(rest) behind it")
                }
                let count = try command.count(
                    at: next + 1, "FOR", max: Int(UniqueName.millisecondsMax))
                guard count > 0 else { throw WireError(.err, "FOR must be at least 1 ms") }
                milliseconds = Int64(count)
                next += 1
            } else {
                break
            }
            next += 1
        }
        name = UniqueName(bytes, isAgain: isAgain, milliseconds: milliseconds)
        tellsWhetherNew = tells
        self.end = next
    }
}
