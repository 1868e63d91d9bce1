// A usage text, taken apart for tools that put it together again as they like. Pure.

/// A part of a usage text: a word, or the contents of one pair of brackets.
package struct UsageWord: Equatable {
    /// Without the brackets around it.
    package let name: String
    /// Whether brackets say that it may be left out.
    package let isOptional: Bool

    /// The parts of a usage text, in their order.
    package static func words(of usage: String) -> [UsageWord] {
        var words: [UsageWord] = []
        var word = ""
        var depth = 0
        for character in usage + " " {
            if character == "[" { depth += 1 }
            if character == "]" { depth -= 1 }
            guard character == " ", depth == 0 else {
                word.append(character)
                continue
            }
            if !word.isEmpty { words.append(UsageWord(word)) }
            word = ""
        }
        return words
    }

    private init(_ word: String) {
        isOptional = word.first == "[" && word.last == "]"
        name = isOptional ? String(word.dropFirst().dropLast()) : word
    }

    package init(name: String, isOptional: Bool) {
        self.name = name
        self.isOptional = isOptional
    }
}
