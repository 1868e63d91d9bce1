// Pages of the manual, in the language that man(1) reads.

/// A page of the manual, written from top to bottom.
///
/// - Source: mdoc(7).
package struct ManualPage {
    /// The longest line of a source that mandoc does not complain about.
    private static let widthMax = 78

    /// The page so far.
    package private(set) var text: String

    /// A page that has its name and a summary.
    ///
    /// - Parameters:
    ///   - name: of the program or file.
    ///   - section: 1 for programs of users, 5 for files, 8 for programs of the system.
    ///   - summary: what it is or does, without a full stop.
    package init(_ name: String, section: Int, summary: String) {
        text = """
            .Dd \(Release.date)
            .Dt \(name.uppercased()) \(section)
            .Os workerd \(Release.version)
            .Sh NAME
            .Nm \(Self.escaped(name))
            .Nd \(Self.escaped(summary))

            """
    }

    /// Whether the next text needs no paragraph of its own.
    private var isAfterHeading: Bool {
        text.split(separator: "\n").last?.hasPrefix(".Sh ") == true
    }

    package mutating func heading(_ title: String) { text += ".Sh \(title.uppercased())\n" }

    /// How the program is called: its arguments, already with the page's macros.
    package mutating func usage(_ arguments: String) { text += ".Nm\n\(arguments)\n" }

    /// A text in paragraphs, which are parted by empty lines.
    package mutating func paragraphs(_ body: String) {
        let lines = body.split(separator: "\n", omittingEmptySubsequences: false)
        for paragraph in lines.split(whereSeparator: \.isEmpty) {
            if !isAfterHeading { text += ".Pp\n" }
            sentences(paragraph.joined(separator: " "))
        }
    }

    /// Begins a list of terms and what they mean; lists may stand in lists.
    package mutating func beginList(isCompact: Bool = false) {
        text += ".Bl -tag -width Ds\(isCompact ? " -compact" : "")\n"
    }

    package mutating func endList() { text += ".El\n" }

    /// An entry of a list.
    ///
    /// - Parameter arguments: shown behind the term in another face.
    package mutating func item(_ term: String, _ arguments: String = "", _ meaning: String = "") {
        text += ".It Ic \(Self.quoted(term))"
        if !arguments.isEmpty { text += " Ar \(Self.quoted(arguments))" }
        text += "\n"
        if !meaning.isEmpty { sentences(meaning) }
    }

    /// Lines as they are.
    package mutating func literal(_ lines: String) {
        text += ".Bd -literal\n"
        for line in lines.split(separator: "\n", omittingEmptySubsequences: false) {
            text += Self.guarded(Self.escaped(String(line))) + "\n"
        }
        text += ".Ed\n"
    }

    /// Other pages: `("workerd", 8)`.
    package mutating func seeAlso(_ pages: [(name: String, section: Int)]) {
        heading("See also")
        for (index, page) in pages.enumerated() {
            text += ".Xr \(page.name) \(page.section)\(index + 1 < pages.count ? " ," : "")\n"
        }
    }

    /// Sentences, each on lines of its own, as mdoc(7) wants them.
    private mutating func sentences(_ body: String) {
        var line = ""
        for word in body.split(separator: " ") {
            let shown = Self.escaped(String(word))
            if !line.isEmpty, line.count + shown.count >= Self.widthMax {
                text += Self.guarded(line) + "\n"
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + shown
            if let last = word.last, ".!?".contains(last), word.count > 2 {
                text += Self.guarded(line) + "\n"
                line = ""
            }
        }
        if !line.isEmpty { text += Self.guarded(line) + "\n" }
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
    }

    /// A line that is escaped already: a dot or an apostrophe at its beginning would be a command.
    private static func guarded(_ line: String) -> String {
        line.first.map { ".'".contains($0) } == true ? "\\&" + line : line
    }

    /// One argument of a macro.
    private static func quoted(_ text: String) -> String {
        "\"\(escaped(text).replacing("\"", with: "\\(dq"))\""
    }
}
