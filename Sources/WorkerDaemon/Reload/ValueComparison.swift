// Two sections compared key by key, their values as the configuration spells them.

internal import Jobs

/// The keys whose values differ between two sections.
struct ValueComparison {
    /// A key with both values; the values are empty if they may be secret or long.
    struct Change: Equatable {
        let key: String
        let before: String
        let after: String
    }

    private(set) var changes: [Change] = []

    mutating func compare<Value: Equatable>(
        _ key: String, _ before: Value, _ after: Value, show: (Value) -> String
    ) {
        guard before != after else { return }
        changes.append(Change(key: key, before: show(before), after: show(after)))
    }

    mutating func compare(_ key: String, _ before: Int, _ after: Int) {
        compare(key, before, after) { $0.grouped }
    }

    mutating func compare(_ key: String, _ before: Bool, _ after: Bool) {
        compare(key, before, after) { "\($0)" }
    }

    mutating func compare(_ key: String, _ before: Duration, _ after: Duration) {
        compare(key, before, after) { $0.configured }
    }

    mutating func compare(_ key: String, _ before: Duration?, _ after: Duration?) {
        compare(key, before, after) { $0?.configured ?? "none" }
    }

    mutating func compare<Choice: RawRepresentable<String> & Equatable>(
        _ key: String, _ before: Choice, _ after: Choice
    ) {
        compare(key, before, after) { $0.rawValue }
    }

    mutating func compareSize(_ key: String, _ before: Int, _ after: Int) {
        compare(key, before, after) { ByteCount.show($0) }
    }

    /// Tells only that they differ.
    mutating func compareSecretly<Value: Equatable>(
        _ key: String, _ before: Value, _ after: Value
    ) {
        compare(key, before, after) { _ in "" }
    }
}

extension ValueComparison {
    mutating func compareThread(
        _ before: Configuration.Thread, _ after: Configuration.Thread
    ) {
        compare("count", before.count, after.count)
        compare("slots", before.slots, after.slots)
        compare("maxQueued", before.maxQueued, after.maxQueued)
        compareSize("maxQueuedBytes", before.maxQueuedBytes, after.maxQueuedBytes)
        compare("whenFull", before.whenFull, after.whenFull)
        compare("whenStuck", before.whenStuck, after.whenStuck)
        compare("stuckAfter", before.stuckAfter, after.stuckAfter)
    }

    mutating func compareSelector(
        _ before: Configuration.Selector, _ after: Configuration.Selector
    ) {
        compare("worker", before.isForWorkers, after.isForWorkers)
        compare("program", before.program, after.program) {
            ([$0.executable] + $0.arguments.dropFirst()).joined(separator: " ")
        }
        compare("lease", before.lease, after.lease)
        compare("leaseAfterRestart", before.leaseAfterRestart, after.leaseAfterRestart)
        compare("lost", before.lostCountMax, after.lostCountMax)
        compare("timeout", before.timeout, after.timeout)
        compare("graceAfterTerm", before.graceAfterTerm, after.graceAfterTerm)
        compare("whenStoreAway", before.whenStoreAway, after.whenStoreAway)
        compareSize("maxOutput", before.maxOutputBytes, after.maxOutputBytes)
        compare("maxMemory", before.maxMemoryBytes, after.maxMemoryBytes) {
            $0.map { ByteCount.show($0) } ?? "none"
        }
        compare("memoryLimit", before.memoryLimit, after.memoryLimit)
        compare("directory", before.directory, after.directory) { $0 ?? "none" }
        compareSecretly("environment", before.environment, after.environment)
        compareSecretly("passEnvironment", before.passedVariables, after.passedVariables)
        compare("inheritEnvironment", before.inheritsEnvironment, after.inheritsEnvironment)
        compareSecretly("jobArguments", before.jobArguments, after.jobArguments)
        compareSecretly("jobEnvironment", before.jobVariables, after.jobVariables)
        compare("expire", before.expire, after.expire)
        compare("retries", before.retryCountMax, after.retryCountMax)
        compare("retry", before.retryManner, after.retryManner)
    }

    mutating func compareSchedule(
        _ before: Configuration.Schedule, _ after: Configuration.Schedule
    ) {
        compare("rhythm", before.definition.rhythm, after.definition.rhythm) { rhythm in
            switch rhythm {
            case .cron(let text, let zone): "\(text) (\(zone))"
            case .every(let milliseconds): Duration.milliseconds(milliseconds).configured
            }
        }
        compareSecretly("the rules of zone", before.zone.rules, after.zone.rules)
        compare("missed", before.missed, after.missed)
        compare("overlap", before.definition.overlap, after.definition.overlap)
        compare("thread", before.thread, after.thread) { $0 }
        compare("selector", before.selector, after.selector) { $0 }
        let (former, latter) = (before.definition.request, after.definition.request)
        compareSecretly("payload", former.payload, latter.payload)
        compareSecretly("unique", former.unique, latter.unique)
        compareSecretly("priority", former.priority, latter.priority)
        compareSecretly("options", former.options.value, latter.options.value)
    }

    mutating func compareLimits(
        _ before: Configuration.Limits, _ after: Configuration.Limits
    ) {
        compareSize("limits.payload", before.payloadBytes, after.payloadBytes)
        compare("limits.connections", before.connections, after.connections)
        compareSize(
            "limits.outputBacklog", before.outputBacklogBytes, after.outputBacklogBytes)
        compare("limits.pipeline", before.pipeline, after.pipeline)
        compare("limits.waitingJobs", before.waitingJobs, after.waitingJobs)
        compareSize("limits.waitingBytes", before.waitingBytes, after.waitingBytes)
        compare("limits.retainedResults", before.retainedResults, after.retainedResults)
        compareSize("limits.retainedBytes", before.retainedBytes, after.retainedBytes)
        compare("limits.retainedFor", before.retainedFor, after.retainedFor)
        compareSize(
            "limits.retainedOutput", before.retainedOutputBytes, after.retainedOutputBytes)
        compare("limits.retainedFailures", before.retainedFailures, after.retainedFailures)
        compare("limits.failuresFor", before.failuresFor, after.failuresFor)
        compare("limits.uniqueFor", before.uniqueFor, after.uniqueFor)
        compare("limits.events", before.events, after.events)
        compareSize("limits.eventBytes", before.eventBytes, after.eventBytes)
        compare("limits.streams", before.streams, after.streams)
    }

    mutating func compareListen(
        _ before: Configuration.Listen, _ after: Configuration.Listen
    ) {
        compare("unix", before.unix, after.unix) { $0 ?? "none" }
        compare("unixMode", before.unixMode, after.unixMode) { "0" + String($0, radix: 8) }
        compareSecretly("peers", before.peers, after.peers)
        compare("tcp", before.tcp, after.tcp) { $0?.description ?? "none" }
        compareTLS("tls", before.tls, after.tls)
        compare("plaintext", before.plaintext, after.plaintext)
        compare("passwordFile", before.passwordFile, after.passwordFile) { $0 ?? "none" }
        let (former, latter) = (before.http, after.http)
        compare("http.tcp", former.tcp, latter.tcp) { $0?.description ?? "none" }
        compareTLS("http.tls", former.tls, latter.tls)
        compare("http.plaintext", former.plaintext, latter.plaintext)
        compare("http.unix", former.unix, latter.unix) { $0 ?? "none" }
        compare("http.unixMode", former.unixMode, latter.unixMode) { "0" + String($0, radix: 8) }
        compare("http.keyFile", former.keyFile, latter.keyFile) { $0 ?? "none" }
        compare("http.names", former.names, latter.names) {
            "[\($0.joined(separator: ", "))]"
        }
    }

    private mutating func compareTLS(
        _ key: String, _ before: Configuration.TLS?, _ after: Configuration.TLS?
    ) {
        guard let before, let after else {
            return compare(key, before, after) { $0 == nil ? "none" : "on" }
        }
        compare("\(key).certificate", before.certificate, after.certificate) { $0 }
        compare("\(key).key", before.key, after.key) { $0 }
        compare("\(key).clients", before.clients, after.clients) { $0 ?? "none" }
        compare("\(key).requireClient", before.requireClient, after.requireClient)
    }
}
