// Commands about the users file, and the way into the page. The file is changed here, beside the
// daemon: no command of the daemon changes who may do what.

internal import Kernel
internal import WorkerClient
internal import WorkerDaemon

enum UserSubcommands {
    private static let usualFile = "/etc/workerd/users"
    private static let byteCountMax = 1 << 20

    static var all: [Subcommand] {
        [
            Subcommand(
                name: "user", arguments: "add|rotate|remove|list [NAME]",
                summary: "Adds a user to the users file, changes its secret, or removes it.",
                details: """
                    add     makes a secret, prints it once, and writes its digest; needs --roles
                    rotate  makes another secret, beside the old one; with --finish the old one goes
                    remove  takes the user out of the file
                    list    shows the users of the file

                    The file is \(usualFile) or what --file says. workerd reads it when it
                    starts, and at each reload.
                    """, wordCount: 1...2,
                options: [.file, .roles, .threads, .selectors, .payloads, .finish],
                summaries: [.file: "the users file; \(usualFile) if not given"], run: user),
            Subcommand(
                name: "page", arguments: "",
                summary: "Prints the address of the page, good once and for a minute.",
                wordCount: 0...0, run: page),
        ]
    }

    private static func page(_ invocation: Invocation) throws(Failure) {
        let address = try invocation.withDaemon("can't open the page") {
            (client) throws(WorkerClientError) in try client.page()
        }
        try invocation.isJSON
            ? Output.write(.object([("page", .string(address))])) : Output.write("\(address)\n")
    }

    private static func user(_ invocation: Invocation) throws(Failure) {
        let action = invocation.word(0)
        let path = invocation.text(.file) ?? usualFile
        let other: [Option] =
            switch action {
            case "add": [.finish]
            case "rotate": [.roles, .threads, .selectors, .payloads]
            default: [.roles, .threads, .selectors, .payloads, .finish]
            }
        if let option = other.first(where: invocation.has) {
            throw .usage(
                "user \(action) has no option \(option.rawValue)", try: "workerctl help user")
        }
        switch (action, invocation.words.count) {
        case ("list", 1):
            let bytes = try reading(path) { () throws(UnreadableFile) in
                try File.readRegular(path, atMost: byteCountMax)
            }
            try list(invocation, try text(bytes, path))
        case ("add", 2): try add(invocation, path)
        case ("rotate", 2): try rotate(invocation, path)
        case ("remove", 2): try remove(invocation, path)
        case ("add", _), ("rotate", _), ("remove", _):
            throw .usage("user \(action) needs a NAME", try: "workerctl help user")
        default:
            throw .usage(
                "user add, rotate, remove or list, not '\(action)'", try: "workerctl help user")
        }
    }

    private static func add(_ invocation: Invocation, _ path: String) throws(Failure) {
        let name = invocation.word(1)
        guard let roles = invocation.text(.roles) else {
            throw .usage("user add needs --roles", try: "--roles observe,submit")
        }
        let secret = try newSecret()
        try change(path, mayBeMissing: true) { text throws(Failure) in
            guard !text.users.contains(where: { $0.name == name }) else {
                throw failure(
                    "can't add the user '\(name)'", "\(path) has it already",
                    try: "workerctl user rotate \(name)")
            }
            do throws(ConfigurationError) {
                try text.add(
                    name, roles: items(roles), threads: items(invocation.text(.threads)),
                    selectors: items(invocation.text(.selectors)),
                    seesPayloads: invocation.has(.payloads), secret.digest)
            } catch {
                throw failure("can't add the user '\(name)'", reason(error), try: nil)
            }
        }
        try tell(secret, of: name, invocation)
    }

    private static func rotate(_ invocation: Invocation, _ path: String) throws(Failure) {
        let name = invocation.word(1)
        let secret = invocation.has(.finish) ? nil : try newSecret()
        try change(path, mayBeMissing: false) { text throws(Failure) in
            let digests = try user(name, of: text, path).digests
            guard digests.count < 2 || invocation.has(.finish) else {
                throw failure(
                    "can't make another secret for '\(name)'",
                    "it has two already: clients that have the older one would be locked out",
                    try: "workerctl user rotate \(name) --finish, once all have the newer one")
            }
            let old = digests.suffix(1)
            do throws(ConfigurationError) {
                try text.setSecrets(of: name, to: old + (secret.map { [$0.digest] } ?? []))
            } catch {
                throw failure("can't change the secret of '\(name)'", reason(error), try: nil)
            }
        }
        if let secret { return try tell(secret, of: name, invocation) }
        try invocation.isJSON
            ? Output.write(.object([("user", .string(name))]))
            : Output.write("\(name) has one secret\n")
    }

    private static func remove(_ invocation: Invocation, _ path: String) throws(Failure) {
        let name = invocation.word(1)
        try change(path, mayBeMissing: false) { text throws(Failure) in
            _ = try user(name, of: text, path)
            do throws(ConfigurationError) {
                try text.remove(name)
            } catch {
                throw failure("can't remove the user '\(name)'", reason(error), try: nil)
            }
        }
        try invocation.isJSON
            ? Output.write(.object([("removed", .string(name))]))
            : Output.write("removed \(name)\n")
    }

    private static func list(
        _ invocation: Invocation, _ text: UsersFileText
    ) throws(Failure) {
        if invocation.isJSON {
            return try Output.write(.array(text.users.map(json)))
        }
        var table = Table([
            ("USER", .left), ("ROLES", .left), ("THREADS", .left), ("SELECTORS", .left),
            ("PAYLOADS", .left), ("SECRETS", .right),
        ])
        for user in text.users {
            table.add([
                user.name, user.roles.names.joined(separator: ","),
                user.threadPatterns.joined(separator: ","),
                user.selectorPatterns.joined(separator: ","), user.seesPayloads ? "yes" : "no",
                "\(user.digests.count)",
            ])
        }
        try Output.write(table.text(invocation.style))
    }

    private static func json(_ user: User) -> JSON {
        .object([
            ("user", .string(user.name)), ("roles", .array(user.roles.names.map(JSON.string))),
            ("threads", .array(user.threadPatterns.map(JSON.string))),
            ("selectors", .array(user.selectorPatterns.map(JSON.string))),
            ("payloads", .boolean(user.seesPayloads)), ("secrets", .integer(user.digests.count)),
        ])
    }

    // MARK: - The file

    /// Changes the file while no other `workerctl` does.
    private static func change(
        _ path: String, mayBeMissing: Bool, _ edit: (inout UsersFileText) throws(Failure) -> Void
    ) throws(Failure) {
        while true {
            let file = try reading(path) { () throws(UnreadableFile) in
                let file = try ChangingFile(path, atMost: byteCountMax)
                // For the error that there is no such file.
                if file.bytes == nil, !mayBeMissing {
                    _ = try File.readRegular(path, atMost: byteCountMax)
                }
                return file
            }
            var text = try text(file.bytes, path)
            try edit(&text)
            do throws(SystemError) {
                if try file.replace(with: text.bytes) { return }
            } catch {
                throw Failure(
                    what: "can't write \(path)", reason: error.reason, advice: nil,
                    status: Failure.Status.outputFault)
            }
        }
    }

    private static func text(_ bytes: [UInt8]?, _ path: String) throws(Failure) -> UsersFileText {
        do throws(ConfigurationError) {
            return try UsersFileText(bytes, fileName: path)
        } catch {
            throw failure("can't read \(path)", reason(error), try: nil)
        }
    }

    private static func reading<Value: ~Copyable>(
        _ path: String, _ read: () throws(UnreadableFile) -> Value
    ) throws(Failure) -> Value {
        do throws(UnreadableFile) {
            return try read()
        } catch {
            let advice =
                if case .locked = error { "again, when that program has ended" } else {
                    "--file FILE, a users file that you may read"
                }
            throw Failure(
                what: "can't read \(path)", reason: error.reason, advice: advice,
                status: Failure.Status.noInput)
        }
    }

    private static func user(
        _ name: String, of text: UsersFileText, _ path: String
    ) throws(Failure) -> User {
        if let user = text.users.first(where: { $0.name == name }) { return user }
        throw failure(
            "can't change the user '\(name)'", "\(path) has no such user",
            try: "workerctl user list --file \(path)")
    }

    private static func newSecret() throws(Failure) -> NewSecret {
        guard let secret = NewSecret.make() else {
            throw failure("can't make a secret", "the kernel has no random numbers", try: nil)
        }
        return secret
    }

    /// Prints a secret, which nothing keeps.
    private static func tell(
        _ secret: NewSecret, of name: String, _ invocation: Invocation
    ) throws(Failure) {
        try invocation.isJSON
            ? Output.write(
                .object([("user", .string(name)), ("secret", .string(secret.text))]))
            : Output.write("\(secret.text)\n")
    }

    private static func items(_ text: String?) -> [String] {
        (text ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            .filter { text != nil || !$0.isEmpty }
    }

    private static func reason(_ error: ConfigurationError) -> String {
        error.faults.map(\.description).joined(separator: "; ")
    }

    private static func failure(
        _ what: String, _ reason: String, try advice: String?
    ) -> Failure {
        Failure(what: what, reason: reason, advice: advice, status: Failure.Status.refused)
    }
}
