// Completion of command lines in real shells, and the pages of the manual.

import Kernel
import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
struct `A command line` {
    private func isInstalled(_ program: String) -> Bool {
        (try? File.kind(of: program)) != nil
    }

    @Test func `is completed by words of the table, and by names that the daemon knows`() throws {
        let daemon = try TestDaemon()
        _ = try daemon.workerctl("schedule", "beat", "images", "echo", "--every", "1h")
        _ = try daemon.workerctl("perform", "images", "echo", "--wait")
        func words(_ line: String...) throws -> [String] {
            let run = try CommandLineRun(
                ["complete", "--"] + line, environment: ["WORKERD_SOCKET": daemon.socket])
            return run.text.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
        }
        #expect(try words("pau") == ["pause"])
        #expect(try words("") == words("help", ""))
        #expect(try !words("").contains("complete"))
        #expect(try words("pause", "") == ["mail", "images", "mail/1", "mail/2"])
        #expect(try words("--socket", daemon.socket, "pause", "im") == ["images"])
        #expect(try words("--socket=/nowhere", "pause", "") == [])
        #expect(try words("perform", "images", "s") == ["sha256", "shout", "sleep"])
        #expect(try words("perform", "images", "echo", "") == [":files"])
        #expect(try words("unschedule", "") == ["beat"])
        #expect(try words("cancel", "") == ["mail", "images", "mail/1", "mail/2"])
        #expect(try words("wait", "1", "") == ["1"])
        #expect(try words("jobs", "--state", "d") == ["delayed", "done"])
        #expect(try words("jobs", "--state", "=", "d") == ["delayed", "done"])
        #expect(try words("jobs", "--thread", "ma") == ["mail", "mail/1", "mail/2"])
        #expect(try words("perform", "--priority", "") == ["high", "normal", "low"])
        #expect(try words("perform", "--file", "") == [":files"])
        #expect(try words("retry", "--al") == ["--all"])
        #expect(try words("retry", "--all", "sh") == ["sha256", "shout"])
        #expect(try words("wait", "--all", "") == ["1"])
        #expect(try words("completion", "") == ["bash", "zsh", "fish"])
        #expect(try words("nonsense", "") == [])
        #expect(try daemon.workerctl("completion", "tcsh").status == 64)
    }

    /// The words that a shell offers.
    private func offered(_ shell: String, _ script: String, _ daemon: TestDaemon) throws -> String {
        let path = try product("workerctl")
        let directory = Directory.parent(of: path)
        let setup = "export PATH=\(directory):$PATH WORKERD_SOCKET=\(daemon.socket)\n"
        let file = try daemon.scratch.write(Array((setup + script).utf8), to: "script")
        return try ProgramRun(shell, [file]).output
    }

    @Test func `is completed in bash`() throws {
        let daemon = try TestDaemon()
        let script = """
            source <(workerctl completion bash)
            offer() {
                COMP_WORDS=(workerctl "$@") COMP_CWORD=$#
                compopt() { echo "compopt $*"; }
                _workerctl
                echo "${COMPREPLY[@]}"
            }
            complete -p workerctl
            offer res
            offer resume m
            offer perform images echo x
            """
        let output = try offered("/bin/bash", script, daemon)
        #expect(
            output == """
                complete -F _workerctl workerctl
                result resume
                mail mail/1 mail/2
                compopt -o default


                """)
    }

    @Test func `is completed in fish`() throws {
        guard isInstalled("/usr/bin/fish") else { return }
        let daemon = try TestDaemon()
        let script = """
            workerctl completion fish | source
            complete -C 'workerctl resume ma'
            complete -C 'workerctl shutdow'
            """
        // Another way to set variables.
        let path = Directory.parent(of: try product("workerctl"))
        let setup = "set -x PATH \(path) $PATH\nset -x WORKERD_SOCKET \(daemon.socket)\n"
        let file = try daemon.scratch.write(Array((setup + script).utf8), to: "script")
        let run = try ProgramRun("/usr/bin/fish", [file])
        #expect(
            run.output == """
                mail\tpool
                mail/1\tidle
                mail/2\tidle
                shutdown\tEnds the daemon, and waits until it is down.

                """)
    }

    @Test func `is completed in zsh`() throws {
        guard isInstalled("/usr/bin/zsh") else { return }
        let daemon = try TestDaemon()
        // zsh completes only at its prompt: the script types into one.
        let run = try ProgramRun(
            "/usr/bin/python3",
            [
                "\(repositoryDirectory)/Scripts/lib/terminal/zsh.py", try product("workerctl"),
                daemon.socket,
            ])
        #expect(run.status == .exited(0), "\(run.output)")
    }

    @Test func `has a page of the manual that mandoc finds no fault in`() throws {
        let page = try CommandLineRun(["man"])
        #expect(page.status == 0)
        #expect(page.text.contains("\n.Nm workerctl\n.Nd show and steer workerd\n"))
        for command in ["perform", "wait", "top", "doctor"] {
            #expect(page.text.contains("\n.It Ic \"\(command)\""))
        }
        for status in [0, 1, 65, 143] { #expect(page.text.contains("\n.It Ic \"\(status)\"")) }
        let daemon = try ProgramRun(try product("workerd"), ["--manual"])
        #expect(daemon.output.contains("\n.Nm workerd\n"))
        guard isInstalled("/usr/bin/mandoc") else { return }
        let scratch = try Scratch()
        for (name, text) in [("workerctl.1", page.text), ("workerd.8", daemon.output)] {
            let file = try scratch.write(Array(text.utf8), to: name)
            // The pages that it refers to are not installed.
            let run = try ProgramRun("/usr/bin/mandoc", ["-T", "lint", "-W", "style", file])
            let faults = run.output.split(separator: "\n").filter {
                !$0.contains("referenced manual not found") && !$0.contains("outdated mandoc.db")
            }
            #expect(faults == [])
        }
    }
}
