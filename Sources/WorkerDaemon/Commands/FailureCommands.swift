// Commands about jobs that have failed for good.

internal import Jobs
internal import RESP
internal import Wording

enum FailureCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "retry", 2...3, .jobs, .operate(showing: 2), usage: "id | ALL selector",
            "Lets a job that has failed run again, or all of a selector. Answers how many.",
            execute: retry),
        CommandSpecification(
            "drop", 2...3, .jobs, .operate(showing: 2), usage: "id | ALL selector",
            "Forgets a job that has failed, or all of a selector. Answers how many.",
            execute: drop),
    ]

    private static func retry(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let driver = service.driver
        try withFailed(service, session, command) { failed, reply in
            driver.input { $0.runAgain(failed, reply) }
        }
        return nil
    }

    private static func drop(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let driver = service.driver
        try withFailed(service, session, command) { failed, reply in
            driver.input { $0.drop(failed, reply) }
        }
        return nil
    }

    /// Goes on with failed jobs that the client's user may touch.
    private static func withFailed(
        _ service: Service, _ session: Session, _ command: Command,
        _ body: @escaping (FailedJobs, ReplyToken) -> Void
    ) throws(WireError) {
        let failed = try failed(command)
        switch failed {
        case .one(let id):
            service.withJob(id, session, session.reserve()) { body(failed, $0) }
        case .all(let selector):
            try session.user.check(selector: selector)
            guard session.user.scope.hasAllThreads else {
                throw WireError(
                    .noPerm,
                    "User \(session.user.name) has no permissions to access all threads: name "
                        + "single jobs instead of ALL")
            }
            body(failed, session.reserve())
        }
    }

    private static func failed(_ command: Command) throws(WireError) -> FailedJobs {
        if command.count == 2 {
            guard !command.matches(1, "ALL") else {
                throw WireError(.err, "ALL needs a selector behind it")
            }
            return .one(try JobCommands.id(command, at: 1))
        }
        guard command.matches(1, "ALL") else {
            throw WireError(
                .err, "a job's number, or ALL and a selector: \(quoted(command.text(at: 1)))?")
        }
        return .all(selector: command.text(at: 2))
    }
}
