// One line of `workerctl doctor`.

/// The finding of one check.
struct Finding {
    enum State: String {
        case ok, warn, fail
    }

    /// The subject: `socket`.
    let name: String
    let state: State
    let text: String
    /// The cure; nil if none is needed.
    var advice: String?

    static func ok(_ name: String, _ text: String) -> Finding {
        Finding(name: name, state: .ok, text: text)
    }

    static func warn(_ name: String, _ text: String, try advice: String?) -> Finding {
        Finding(name: name, state: .warn, text: text, advice: advice)
    }

    static func fail(_ name: String, _ text: String, try advice: String?) -> Finding {
        Finding(name: name, state: .fail, text: text, advice: advice)
    }

    /// `FAIL  socket  there is no /run/workerd/workerd.sock`, and what to do below it.
    func line(_ style: Style) -> String {
        let word = state == .fail ? "FAIL" : state.rawValue
        let look: Style.Look = state == .ok ? .good : state == .warn ? .warning : .bad
        let padding = String(repeating: " ", count: 4 - word.count)
        let subject = name + String(repeating: " ", count: max(0, 13 - name.count))
        var line = style.shown(word, look) + padding + "  \(subject)  \(Terminal.printable(text))\n"
        if let advice { line += "        try: \(Terminal.printable(advice))\n" }
        return line
    }

    var json: JSON {
        .object([
            ("check", .string(name)), ("state", .string(state.rawValue)), ("text", .string(text)),
            ("try", advice.map(JSON.string) ?? .null),
        ])
    }
}
