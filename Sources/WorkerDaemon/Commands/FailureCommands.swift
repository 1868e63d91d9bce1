// Commands about jobs that have failed for good.

internal import Jobs
internal import RESP
internal import Wording

enum FailureCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "retry", 2...3, .jobs, usage: "id | ALL selector",
            "Lets a job that has failed run again, or all of a selector. Answers how many.",
            execute: retry),
        CommandSpecification(
            "drop", 2...3, .jobs, usage: "id | ALL selector",
            "Forgets a job that has failed, or all of a selector. Answers how many.",
            execute: drop),
    ]

    private static func retry(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let (failed, reply) = (try failed(command), session.reserve())
        service.driver.input { $0.runAgain(failed, reply) }
        return nil
    }

    private static func drop(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let (failed, reply) = (try failed(command), session.reserve())
        service.driver.input { $0.drop(failed, reply) }
        return nil
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
