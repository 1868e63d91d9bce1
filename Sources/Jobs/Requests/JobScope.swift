// The threads and selectors that a client may touch. Pure values, compared with the names of jobs.

/// A pattern of names, such as `mail` or `mail-*`.
///
/// A star stands for any characters, or none.
package struct NamePattern: Sendable, Equatable, CustomStringConvertible {
    /// The longest pattern, in bytes.
    package static let byteCountMax = 64

    package let description: String
    /// The bytes between the stars.
    private let parts: [[UInt8]]

    /// Reads a pattern.
    ///
    /// - Returns: nil unless it has 1 to 64 of the characters of names, `/` and `*`.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        let isPattern = bytes.allSatisfy {
            NameRule.allows($0) || $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "/")
        }
        guard (1...Self.byteCountMax).contains(bytes.count), isPattern else { return nil }
        description = text
        parts = bytes.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false)
            .map(Array.init)
    }

    /// Whether it stands for every name.
    var isAny: Bool { description == "*" }

    /// Whether it stands for a name.
    ///
    /// - Complexity: O(name × pattern).
    package func matches(_ name: String) -> Bool { matches(Array(name.utf8)[...]) }

    private func matches(_ name: ArraySlice<UInt8>) -> Bool {
        guard let first = parts.first, let last = parts.last, parts.count > 1 else {
            return name.elementsEqual(parts[0])
        }
        guard name.count >= first.count + last.count, name.starts(with: first),
            name.suffix(last.count).elementsEqual(last)
        else { return false }
        var rest = name.dropFirst(first.count).dropLast(last.count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            var place = rest.startIndex
            while !rest[place...].starts(with: part) {
                guard rest.endIndex - place > part.count else { return false }
                place += 1
            }
            rest = rest[(place + part.count)...]
        }
        return true
    }
}

/// A part of all threads and selectors.
package struct JobScope: Sendable, Equatable {
    package let threads: [NamePattern]
    package let selectors: [NamePattern]
    /// Whether no thread is left out.
    package let hasAllThreads: Bool
    /// Whether no selector is left out.
    package let hasAllSelectors: Bool
    /// Whether no thread and no selector is left out.
    package let isAll: Bool

    /// All of them.
    package static let all = JobScope(threads: nil, selectors: nil)

    /// - Parameters:
    ///   - threads: patterns of threads; nil for all.
    ///   - selectors: patterns of selectors; nil for all.
    package init(threads: [NamePattern]?, selectors: [NamePattern]?) {
        let any = NamePattern("*").map { [$0] } ?? []
        self.threads = threads ?? any
        self.selectors = selectors ?? any
        hasAllThreads = self.threads.contains { $0.isAny }
        hasAllSelectors = self.selectors.contains { $0.isAny }
        isAll = hasAllThreads && hasAllSelectors
    }

    /// Whether a thread or pool is in it; a thread or slot of a pool is if its pool is.
    package func has(thread name: String) -> Bool {
        if threads.contains(where: { $0.matches(name) }) { return true }
        guard let mark = name.lastIndex(where: { $0 == "/" || $0 == "#" }) else { return false }
        let pool = String(name[..<mark])
        return threads.contains { $0.matches(pool) }
    }

    package func has(selector name: String) -> Bool { selectors.contains { $0.matches(name) } }

    package func has(thread: String, selector: String) -> Bool {
        has(thread: thread) && has(selector: selector)
    }

    /// Whether a job's thread and selector are in it.
    package func has(_ job: Job) -> Bool { has(thread: job.thread, selector: job.selector) }
}
