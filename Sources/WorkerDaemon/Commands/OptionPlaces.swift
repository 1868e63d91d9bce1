// That no option is given twice in a command, for all commands that have options.

internal import RESP

/// Which arguments of a command are the names of its options.
struct OptionPlaces {
    /// Bit n says that argument n is one.
    private var places: UInt128 = 0

    /// Notes an option.
    ///
    /// - Throws: that it was given before.
    mutating func note(_ index: Int, of command: Command) throws(WireError) {
        var others = places
        while others != 0 {
            let other = others.trailingZeroBitCount
            guard !command.matches(index, other) else {
                throw WireError(
                    .err, "\(command.text(at: other).uppercased()) is given twice; once is enough")
            }
            others &= others - 1
        }
        places |= 1 << UInt128(index)
    }
}
