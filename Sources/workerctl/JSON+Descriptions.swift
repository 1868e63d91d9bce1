// Answers of the daemon as JSON: names with underscores, times in Unix milliseconds.

internal import WorkerClient

extension JSON {
    fileprivate static func optional(_ text: String?) -> JSON { text.map(JSON.string) ?? .null }

    fileprivate static func optional(_ value: (some BinaryInteger)?) -> JSON {
        value.map { .integer(Int(clamping: $0)) } ?? .null
    }

    fileprivate static func entries(of holdUp: HoldUpDescription?) -> [(String, JSON)] {
        guard let holdUp else { return [] }
        return [
            ("held_by", .integer(Int(clamping: holdUp.jobID))),
            ("held_until", .optional(holdUp.until)),
        ]
    }

    /// The lines of INFO: an object of sections, each an object.
    init(informationLines lines: [String]) {
        var sections: [(String, JSON)] = []
        var name: String?
        var entries: [(String, JSON)] = []
        func endSection() {
            if let name { sections.append((name, .object(entries))) }
            entries = []
        }
        for line in lines {
            if line.hasPrefix("# ") {
                endSection()
                name = line.dropFirst(2).lowercased()
                continue
            }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            entries.append((String(parts[0]), JSON(informationValue: parts[1])))
        }
        endSection()
        self = .object(sections)
    }

    /// A number, an object for `a=1,b=2`, or else a string.
    private init(informationValue text: Substring) {
        if let value = Int(text) {
            self = .integer(value)
            return
        }
        let pairs = text.split(separator: ",").map { $0.split(separator: "=", maxSplits: 1) }
        if !pairs.isEmpty, pairs.allSatisfy({ $0.count == 2 }) {
            self = .object(pairs.map { (String($0[0]), JSON(informationValue: $0[1])) })
        } else {
            self = .string(String(text))
        }
    }
}

extension JobSummary {
    fileprivate var entries: [(String, JSON)] {
        [
            ("id", .integer(Int(clamping: id))), ("thread", .string(thread)),
            ("selector", .string(selector)), ("state", .string(state.rawValue)),
            ("priority", .string(priority)), ("attempt", .integer(attempt)),
        ] + text("label", label) + text("trace", trace) + text("last_failure", lastFailure)
    }

    /// The entries of a row, with its failure if that was asked for.
    private var row: [(String, JSON)] {
        guard failure != nil || endedAt != nil else { return entries }
        return entries + [("failure", .optional(failure)), ("ended_at", .optional(endedAt))]
    }

    var json: JSON { .object(row) }
}

extension JobDescription {
    var json: JSON {
        .object(
            summary.entries + [
                ("accepted_at", .integer(Int(acceptedAt))), ("due_at", .optional(dueAt)),
                ("expires_at", .optional(expiresAt)),
                ("started_at", .optional(startedAt)), ("ended_at", .optional(endedAt)),
                ("worker", .optional(worker)), ("payload_bytes", .integer(payloadByteCount)),
                ("failure", .optional(failure)), ("progress", progress.map(JSON.double) ?? .null),
                ("progress_text", .optional(progressText)),
            ] + text("key", key) + words("arguments", arguments) + words("environment", environment)
                + JSON.entries(of: holdUp) + text("waits_for", waitsFor))
    }
}

extension JobNews {
    var json: JSON {
        .object([
            ("id", .integer(Int(clamping: id))), ("state", .string(state.rawValue)),
            ("attempt", .integer(attempt)), ("worker", .optional(worker)),
            ("progress", progress.map(JSON.double) ?? .null),
            ("progress_text", .optional(progressText)), ("failure", .optional(failure)),
            ("last_failure", .optional(lastFailure)),
        ])
    }
}

/// A text, if there is one.
private func text(_ name: String, _ text: String?) -> [(String, JSON)] {
    text.map { [(name, .string($0))] } ?? []
}

/// A list, if there is one.
private func words(_ name: String, _ words: [String]) -> [(String, JSON)] {
    words.isEmpty ? [] : [(name, .array(words.map(JSON.string)))]
}

extension ThreadDescription {
    var json: JSON {
        .object(
            [
                ("name", .string(name)), ("state", .string(state)),
                ("waiting", .integer(waitingCount)), ("done", .integer(doneCount)),
                ("failed", .integer(failedCount)), ("job", .optional(jobID)),
                ("selector", .optional(selector)), ("running_ms", .optional(runningMilliseconds)),
            ] + (pool.map { [("pool", .string($0))] } ?? [])
                + (maxQueued.map { [("max_queued", .integer($0))] } ?? [])
                + JSON.entries(of: holdUp) + text("waits_for", waitsFor) + text("owner", owner))
    }
}

extension ThreadOrPool {
    var json: JSON {
        switch self {
        case .thread(let thread): thread.json
        case .pool(let pool):
            .object(
                [
                    ("name", .string(pool.name)),
                    ("members", .array(pool.members.map(JSON.string))),
                    ("waiting", .integer(pool.waitingCount)),
                    ("running", .integer(pool.runningCount)),
                    ("max_queued", .integer(pool.maxQueued)),
                ] + JSON.entries(of: pool.holdUp))
        }
    }
}

extension WorkerDescription {
    var json: JSON {
        .object([
            ("client", .optional(client)), ("name", .optional(name)),
            ("connected", .boolean(isConnected)), ("pid", .optional(processID)),
            ("uid", .optional(userID)), ("since", .optional(since)),
            ("selectors", .array(selectors.map(JSON.string))),
            ("owns", .array(ownThreads.map(JSON.string))),
            ("jobs", .array(jobs.map { .integer(Int(clamping: $0)) })),
        ])
    }
}

extension NodeDescription {
    var json: JSON {
        .object(
            [
                ("name", .string(name)), ("state", .string(serves ? "serves" : "waits")),
                ("since", .optional(since)), ("trusted", isTrusted.map(JSON.boolean) ?? .null),
                ("epoch", .optional(epoch)), ("address", .optional(address)),
                ("http", .optional(http)),
            ]
                + (threads.map {
                    [("threads", .array($0.map(JSON.string))), ("link", .optional(link))]
                } ?? []))
    }
}

extension SelectorDescription {
    var json: JSON {
        let orphaned = orphanedCount > 0 ? [("orphaned", JSON.integer(orphanedCount))] : []
        return .object([("name", .string(name)), ("handler", .string(handler))] + orphaned)
    }
}

extension FailureGroup {
    var json: JSON {
        .object([
            ("selector", .optional(selector)), ("reason", .optional(reason)),
            ("count", .integer(count)), ("first", .integer(Int(first))),
            ("last", .integer(Int(last))), ("newest", .integer(Int(clamping: newest))),
            ("failure", .optional(failure)),
        ])
    }
}
