// What a script asks of a test: how many rounds, and from which seed.

internal import Kernel

/// The number that a variable of the environment holds, as the scripts in `Scripts` set it.
///
/// - Returns: nil without such a variable, or if it holds none.
package func askedNumber(_ variable: String) -> Int? {
    Program.inheritedEnvironment()[variable].flatMap { Int($0) }
}
