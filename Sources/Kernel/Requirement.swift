// How a misuse ends the program, with a word about it.

/// Ends the program unless a rule of use is kept, and says which one.
///
/// It does so in an optimised build too, where `precondition` ends the program without a word of
/// the reason.
///
/// - Parameters:
///   - isKept: whether it is.
///   - rule: what is wrong, and what to do.
///   - file: the caller's file.
///   - line: the caller's line.
@inlinable
@inline(__always)
package func require(
    _ isKept: Bool, _ rule: @autoclosure () -> String,
    file: StaticString = #fileID, line: UInt = #line
) {
    guard isKept else { fatalError(rule(), file: file, line: line) }
}
