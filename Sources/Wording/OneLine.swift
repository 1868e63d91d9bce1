// Texts of others, such as programs, as they may stand in a line of ours.

/// A text in one line that is not too long: control characters, line feeds among them, become blanks.
///
/// - Parameter scalarCountMax: how many Unicode scalars of it are shown.
package func inOneLine(_ text: String, scalarCountMax: Int) -> String {
    var shown = String.UnicodeScalarView()
    for scalar in text.unicodeScalars.prefix(scalarCountMax) {
        shown.append(scalar.properties.generalCategory == .control ? " " : scalar)
    }
    return String(shown)
}
