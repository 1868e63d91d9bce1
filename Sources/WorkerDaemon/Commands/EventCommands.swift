// The command that pushes every change of state to a client.

internal import RESP

enum EventCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "events", 1...CommandTable.manyArguments, .jobs, .observe,
            usage: "[SINCE epoch-number] [thread …]",
            "Pushes each change of state of jobs and threads, of all or of these threads. Needs "
                + "HELLO 3. Answers the place behind which the events begin.",
            execute: events)
    ]

    private static func events(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        guard session.writer.version == .three else {
            throw WireError(
                .err,
                "EVENTS pushes, which version 2 of the protocol can't: HELLO 3 first, or ask JOBS "
                    + "again and again")
        }
        var index = 1
        var place: EventPlace?
        if command.count > 2, command.matches(1, "SINCE") {
            place = try Service.place(command.text(at: 2))
            index = 3
        }
        let threads = (index..<max(index, command.count)).map { command.text(at: $0) }
        try service.pushEvents(to: session, behind: place, of: threads)
        return nil
    }
}
