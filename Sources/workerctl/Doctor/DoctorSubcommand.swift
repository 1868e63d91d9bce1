// `workerctl doctor`: a line for each check, with its verdict and its remedy.

enum DoctorSubcommand {
    static var subcommand: Subcommand {
        Subcommand(
            name: "doctor", arguments: "",
            summary: "Checks configuration, socket, rights, certificates, store, limits, clock.",
            details: """
                Each line is ok, warn or FAIL, with what to do. The exit status is 1 if one is FAIL.
                The configuration is the one that the running daemon was started with, else
                /etc/workerd/workerd.json5.
                """, wordCount: 0...0, options: [.config]
        ) { (invocation) throws(Failure) in
            let doctor = Doctor(
                try invocation.address(), program: invocation.program,
                namedConfiguration: invocation.text(.config))
            let findings = doctor.findings()
            if invocation.isJSON {
                try Output.write(.object([("checks", .array(findings.map(\.json)))]))
            } else {
                for finding in findings { try Output.write(finding.line(invocation.style)) }
            }
            if findings.contains(where: { $0.state == .fail }) { throw .told(.failed) }
        }
    }
}
