// The numbers that a script passes to a test: how many rounds, and from which seed.

internal import Kernel

/// The number in a variable of the environment, as the scripts in `Scripts` set it.
///
/// - Returns: nil without such a variable, or if it is not a number.
package func askedNumber(_ variable: String) -> Int? {
    Program.inheritedEnvironment()[variable].flatMap { Int($0) }
}
