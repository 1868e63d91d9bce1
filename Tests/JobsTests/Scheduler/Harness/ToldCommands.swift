// Messages of a scheduler to its store and its clients, in a few words for transcripts.

import Jobs

extension StoreCommand {
    /// The command in a few words.
    var told: String {
        switch self {
        case .accept(let new): "job \(new.job.id)\(new.isParked ? ", parked" : "")"
        case .acceptOnce(let new, let claim):
            "job \(new.job.id) as \(printable(claim.name))"
                + (claim.isAgain ? ", again" : "")
        case .run(let runs): "\(runs.count) runs"
        case .keepSchedule: "schedule"
        case .dropSchedule: "no schedule"
        case .settle: "settle"
        case .fire: "fire"
        case .keepDue: "keep due"
        case .pause: "pause"
        case .askToEnd(let id): "that job \(id) was asked to end"
        case .begun(let id, _): "that job \(id) has begun"
        case .start(let id, _): "that job \(id) runs"
        case .end(let id, let attempt, let outcome, _):
            "that job \(id) is \(outcome.state.rawValue)"
                + (attempt.map { " in attempt \($0.number)" } ?? "")
        case .putBack(let id, let attempt, _, _): "that job \(id) has \(attempt) attempts"
        case .hold(let id, _, let holder):
            "that \(holder == nil ? "no worker" : "a worker") holds job \(id)"
        case .retry(let id, let attempt, _):
            "that attempt \(attempt.number) of job \(id) has failed"
        case .reserve(let below): "no number below \(below)"
        case .confirm: "confirm"
        case .cancel(let id, let outcome, _): "job \(id) as \(outcome.state.rawValue)"
        case .findExpired: "find expired"
        case .cancelPart: "cancel part"
        case .load(let queue, let limit, _):
            "load \(limit) of \(queue.thread) \(queue.priority.name)"
        case .loadDelayed(let queue, _, let limit, _):
            "load \(limit) delayed of \(queue.thread) \(queue.priority.name)"
        case .release(let queues): "release \(queues.count) queues"
        case .claim: "claim"
        case .move(let moves, _): "move \(moves.count) threads"
        case .limit: "limits"
        case .settleSubmitted: "settle submitted"
        case .serve(let selectors): "serve \(selectors.sorted())"
        case .find(let id, _): "find job \(id)"
        case .findPayload(let id, _): "find payload of job \(id)"
        case .findNamed: "find name"
        case .list: "list"
        case .answer: "answer"
        }
    }
}

extension JobAnswer {
    /// The answer in a few words.
    var told: String {
        switch self {
        case .accepted(let id): "job \(id)"
        case .known(let id): "job \(id), known"
        case .count(let count): "\(count)"
        case .done: "done"
        case .cancel(let answer): answer.rawValue
        case .result(let bytes):
            bytes.map { "'\(String(decoding: $0, as: UTF8.self))'" } ?? "no result"
        case .job(let description): "job \(description.job.id) is \(description.state)"
        case .moved(let id, let thread, let milliseconds):
            "wait for job \(id) where thread \(thread) is"
                + (milliseconds.map { ", for \($0) ms" } ?? "")
        case .listed: "listed"
        case .failed(let error): "\(error)"
        }
    }
}

/// A name as text, or its bytes if they are none: a NUL would end the report of a test.
private func printable(_ name: [UInt8]) -> String {
    let isText = name.allSatisfy { (0x20..<0x7f).contains($0) }
    return isText ? String(decoding: name, as: UTF8.self) : "\(name)"
}
