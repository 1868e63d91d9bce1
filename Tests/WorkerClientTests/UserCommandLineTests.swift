// `workerctl user` and `workerctl page`, tried as people use them.

import Glibc
import Kernel
import RESP
import Support
import Testing
import WorkerClient
import WorkerDaemon

@Suite struct `workerctl's users` {
    private func run(_ arguments: String..., file: String) throws -> CommandLineRun {
        try CommandLineRun(["user"] + arguments + ["--file", file])
    }

    private func users(_ file: String) throws -> [User] {
        try UsersFile(bytes: try File.read(file, atMost: 1 << 20), fileName: file).users
    }

    private func digest(_ run: CommandLineRun) -> SecretDigest {
        SecretDigest(of: Array(run.text.dropLast().utf8))
    }

    @Test(.timeLimit(.minutes(2))) func `are in the file that --file says`() throws {
        let help = try CommandLineRun(["user", "--help"]).text
        #expect(help.contains("--file FILE            the users file; /etc/workerd/users if not"))
        #expect(!help.contains("the payload is"))
    }

    @Test(.timeLimit(.minutes(2))) func `come, change their secrets and go`() throws {
        let file = try TestDirectory()
        let path = file.file("users")
        let added = try run(
            "add", "ann", "--roles", "observe,operate", "--threads", "mail*,images", "--payloads",
            file: path)
        #expect(added.status == 0)
        #expect(added.output.count == 65)
        #expect(try File.mode(of: path) == 0o600)
        let ann = try #require(try users(path).first)
        #expect(ann.roles == [.observe, .operate] && ann.seesPayloads)
        #expect(ann.threadPatterns == ["mail*", "images"] && ann.selectorPatterns == ["*"])
        #expect(ann.digests == [digest(added)])

        let bob = try run("add", "bob", "--roles", "work", file: path)
        #expect(bob.status == 0 && bob.text != added.text)
        let second = try run("rotate", "ann", file: path)
        #expect(try users(path)[0].digests == [digest(added), digest(second)])
        // A third secret would lock the clients out that have the first one.
        #expect(try run("rotate", "ann", file: path).status == 65)
        #expect(try users(path)[0].digests == [digest(added), digest(second)])
        #expect(try run("rotate", "ann", "--finish", file: path).text == "ann has one secret\n")
        let third = try run("rotate", "ann", file: path)
        #expect(try users(path)[0].digests == [digest(second), digest(third)])
        _ = try run("rotate", "ann", "--finish", file: path)
        #expect(try users(path)[0].digests == [digest(third)])
        #expect(try users(path)[1].digests == [digest(bob)])

        let list = try run("list", file: path).text
        #expect(list.contains("ann   observe,operate  mail*,images  *          yes"))
        #expect(!list.contains(digest(third).hexadecimal))
        #expect(try run("remove", "ann", file: path).text == "removed ann\n")
        #expect(try users(path).map(\.name) == ["bob"])
        #expect(try Directory.names(in: file.path) == ["users"])
    }

    /// Runs many `workerctl user` at once.
    ///
    /// - Parameter order: their arguments in a shell, in which `$i` is the number of each.
    private func runMany(_ order: String, file: String) throws {
        let script = """
            for i in $(seq 32); do "$0" user \(order) --file "$1" >"$1.told-$i" 2>&1 & all="$all $!"
            done
            for one in $all; do wait $one || exit; done
            """
        var child = try ChildProcess.spawn(
            ChildCommand(
                program: "/bin/sh", arguments: ["-c", script, try product("workerctl"), file]))
        try waitUntilReady(child.endDescriptor.number)
        #expect(child.reap() == .exited(0))
    }

    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func `that are changed by many at once are all there, behind a link too`(isThere: Bool) throws {
        let directory = try TestDirectory()
        try Directory.create(directory.file("real"))
        let (path, link) = (directory.file("real/users"), directory.file("users"))
        try #require(unsafe symlink("real/users", link) == 0)
        if isThere {
            try File.write(Array("{ users: {} }".utf8), to: path)
            try File.setMode(0o640, of: path)
        }
        try runMany("add u$i --roles work", file: link)
        #expect(try users(path).count == 32)
        try runMany("rotate u$i", file: path)
        #expect(try users(path).allSatisfy { $0.digests.count == 2 })
        try runMany("remove u$i", file: link)
        #expect(try users(link).isEmpty)
        #expect(File.target(ofLink: link) == "real/users")
        #expect(try File.mode(of: path) == (isThere ? 0o640 : 0o600))
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            "{ users: {} }", "{users:{}}", "{ users: { }, }", "{\n  users: {\n  },\n}\n",
            "{ users: { a: { roles: ['work'] } } }", "{ users: { a: { roles: ['work'] }, } }",
            "{\n users: {\n  a: { roles: ['work'] }, // the first\n  // more\n } }",
            "{\n users: {\n  a: { roles: ['work'] } // the first\n } }",
            "\u{FEFF}{ users: { 'a': { roles: ['work'], secrets: [] /* none */, }, } } // äöü",
        ])
    func `leave all else in the file as it was`(text: String) throws {
        let text = text.replacing(", secrets: []", with: "")
        let directory = try TestDirectory()
        let path = directory.file("users")
        try File.write(Array(text.utf8), to: path)
        try File.setMode(0o640, of: path)
        let before = try users(path).map(\.name)
        #expect(try run("add", "bob", "--roles", "work", file: path).status == 0)
        #expect(try users(path).map(\.name) == before + ["bob"])
        #expect(try File.mode(of: path) == 0o640)
        for name in before {
            #expect(try run("rotate", name, file: path).status == 0)
            #expect(try users(path)[0].digests.count == 1)
        }
        let changed = String(decoding: try File.read(path, atMost: 1 << 20), as: UTF8.self)
        for comment in ["// the first", "// more", "/* none */", "// äöü"]
        where text.contains(comment) {
            #expect(changed.contains(comment), "\(changed)")
        }
        #expect(try run("remove", "bob", file: path).status == 0)
        #expect(try users(path).map(\.name) == before)
        if before.isEmpty { return }
        #expect(try run("remove", before[0], file: path).status == 0)
        #expect(try users(path).isEmpty)
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            (["add"], 64, "user add needs a NAME"), (["add", "x"], 64, "user add needs --roles"),
            (["add", "x", "--roles", "king"], 65, "unknown role"),
            (["add", "x", "--roles", ""], 65, "unknown role"),
            (["add", "a b", "--roles", "work"], 65, "a name is 1…64"),
            (["add", "default", "--roles", "work"], 65, "is the user of passwordFile"),
            (["add", "x", "--roles", "work", "--threads", "a b"], 65, "must be 1…64"),
            (["add", "x\"", "--roles", "work"], 65, "a name is 1…64"),
            (["add", "ann", "--roles", "work"], 65, "has it already"),
            (["add", "x", "--roles", "work", "--finish"], 64, "user add has no option --finish"),
            (["rotate", "x"], 65, "has no such user"), (["remove", "x"], 65, "has no such user"),
            (["rotate", "ann", "--roles", "work"], 64, "user rotate has no option --roles"),
            (["list", "ann"], 64, "user add, rotate, remove or list"),
            (["make", "ann"], 64, "user add, rotate, remove or list, not 'make'"),
        ] as [([String], Int, String)])
    func `are refused`(arguments: [String], status: Int, expected: String) throws {
        let directory = try TestDirectory()
        let path = directory.file("users")
        let text = "{ users: { ann: { roles: ['work'] } } }"
        try File.write(Array(text.utf8), to: path)
        let run = try CommandLineRun(["user"] + arguments + ["--file", path])
        #expect(run.status == status)
        #expect(run.errors.contains(expected), "\(run.errors)")
        #expect(String(decoding: try File.read(path, atMost: 4_096), as: UTF8.self) == text)
    }

    @Test(.timeLimit(.minutes(2))) func `are not written to a faulty file, nor found in none`()
        throws
    {
        let directory = try TestDirectory()
        let path = directory.file("users")
        #expect(try run("list", file: path).status == 66)
        try #require(unsafe mkfifo(path, 0o600) == 0)
        for run in [
            try run("list", file: path), try run("add", "x", "--roles", "work", file: path),
        ] {
            #expect(run.status == 66)
            #expect(run.errors.contains("it is a named pipe, not a regular file"))
        }
        try File.remove(path)
        try File.write(Array("{ users: { ann: {} } }".utf8), to: path)
        let faulty = try run("add", "bob", "--roles", "work", file: path)
        #expect(faulty.status == 65 && faulty.errors.contains("users.ann.roles: is missing"))
    }

    @Test(.timeLimit(.minutes(2))) func `reach the daemon, and the page`() throws {
        let directory = try TestDirectory()
        let (file, secret) = (directory.file("users"), directory.file("secret"))
        let added = try run("add", "ann", "--roles", "observe", file: file)
        try File.write(added.output, to: secret)
        let port = try freePort()
        let daemon = try TestDaemon(
            listen: "tcp: \"\(port)\", http: { tcp: \"\(try freePort())\" }",
            more: "users: \"\(file)\",")
        let asAnn = ["--user", "ann", "--password-file", secret]
        for door in [["--socket", daemon.socket], ["--tcp", "\(port)"]] {
            let page = try CommandLineRun(door + asAnn + ["page"])
            #expect(page.text.wholeMatch(of: /http:\/\/127[0-9.:]+\/#ticket=[0-9a-f]{64}\n/) != nil)
            let pause = try CommandLineRun(door + asAnn + ["pause", "images"])
            #expect(pause.status == 77)
            #expect(pause.errors.contains("needs the role operate (NOPERM)"), "\(pause.errors)")
            let wrong = try CommandLineRun(
                door + ["--user", "bob"] + asAnn.dropFirst(2) + ["ping"])
            #expect(wrong.errors.contains("(WRONGPASS)"))
        }
        let without = try CommandLineRun(["--socket", daemon.socket, "--user", "ann", "ping"])
        #expect(without.status == 64)
        let client = try WorkerClient(
            .unix(daemon.socket).authenticating(
                as: "ann", secret: String(added.text.dropLast())))
        #expect(throws: WorkerClientError.self) { try client.pause("images") }
        #expect(try client.page().contains("/#ticket="))
    }
}
