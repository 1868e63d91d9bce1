// `workerctl` with jobs whose handlers are programs: what these are given, and what they write.

import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
struct `workerctl with programs` {
    @Test func `output of a program is printed, stream by stream, and as it comes`() throws {
        let daemon = try TestDaemon(
            selectors: """
                bad: {
                    program: ["sh", "-c",
                        "echo out $WORKERD_ATTEMPT; echo err $WORKERD_ATTEMPT >&2; exit 3"],
                },
                good: { program: ["sh", "-c", "echo warning >&2; echo result"] },
                """)
        _ = try daemon.workerctl("perform", "images", "bad", "--wait")
        let failed = try daemon.workerctl("output", "1")
        #expect(failed.status == 0)
        #expect(failed.text == "out 1\n")
        #expect(failed.errors == "err 1\n")
        let json = try daemon.workerctl("output", "1", "--json", "--attempt", "1")
        #expect(json.text.contains(#""errors":"err 1\n","errors_bytes":6"#), "\(json.text)")
        let none = try daemon.workerctl("output", "1", "--attempt", "2")
        #expect(none.status == 65)
        #expect(none.errors.contains("no output of job 1: nothing is kept of attempt 2"))
        _ = try daemon.workerctl("perform", "images", "bad", "--retry", "1")
        let attempts = try daemon.workerctl("output", "2", "--follow")
        #expect(attempts.status == 1)
        #expect(attempts.text == "out 1\nout 2\n")
        #expect(
            attempts.errors == """
                err 1
                --- attempt 2
                err 2
                workerctl: job 2: exit status 3: err 2 (FAILED)

                """)
        _ = try daemon.workerctl("perform", "images", "good", "--delay", "50ms")
        let good = try daemon.workerctl("output", "3", "--follow")
        #expect(good.status == 0)
        #expect(good.text == "result\n")
        #expect(good.errors == "warning\n")
        let both = try daemon.workerctl("output", "3", "--follow", "--json")
        #expect(both.status == 64)
        let followed = try daemon.workerctl("follow", "2")
        #expect(followed.text == attempts.text && followed.errors == attempts.errors)
        #expect(try daemon.workerctl("follow", "2", "--json").status == 64)
        _ = try daemon.workerctl("perform", "images", "good", "--delay", "2h")
        _ = try daemon.workerctl("cancel", "4")
        let cancelled = try daemon.workerctl("follow", "4")
        #expect(cancelled.status == 3)
        #expect(cancelled.errors == "workerctl: job 4 was cancelled (CANCELLED)\n")
    }

    @Test func `arguments and variables for a program are given several times`() throws {
        let daemon = try TestDaemon(
            selectors: """
                show: {
                    program: ["sh", "-c", "echo $A $B $@", "sh"],
                    jobArguments: { "--size": "joined", "-n": "separate" },
                    jobEnvironment: ["A", "B"],
                },
                """)
        let run = try daemon.workerctl(
            "perform", "images", "show", "--arg", "--size=4", "--arg=-n=5", "--env", "A=1",
            "--env=B=2=3", "--wait")
        #expect(run.text == "1 2=3 --size=4 -n 5\n", "\(run.errors)")
        let job = try daemon.workerctl("job", "1")
        #expect(job.text.contains("--size=4 -n=5"))
        #expect(job.text.contains("A=1 B=2=3"))
        let json = try daemon.workerctl("job", "1", "--json")
        #expect(json.text.contains(#""arguments":["--size=4","-n=5"]"#), "\(json.text)")
        let refused = try daemon.workerctl("perform", "images", "show", "--arg=--out=x")
        #expect(refused.errors.contains("lets jobs set no argument '--out'"))
        #expect(try daemon.workerctl("perform", "images", "show", "--env", "A").status == 64)
        #expect(try daemon.workerctl("perform", "images", "show", "--arg").status == 64)
    }
}
