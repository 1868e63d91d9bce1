// That selectors, limits, durations and sizes which cannot be are told, each in a sentence.

internal import Testing
internal import WorkerDaemon

@Suite struct ConfigurationSelectorFaultTests {
    @Test(
        arguments: Mistake.list(
            #"""
            program: 'gzip -9c'
                program: must be a list such as ["gzip", "-9c"], is a string
            program: []
                program: must have 1…1024 elements, has 0
            program: ['gzip', 9]
                program[1]: must be a string such as "-9c", is a number
            program: ['gzip', 'a\0']
                program[1]: must not contain a zero byte
            program: ['']
                program[0]: must be an absolute path or the name of a program in PATH, is ""
            program: ['./gzip']
                program[0]: must be an absolute path or the name of a program in PATH, is
                "./gzip"
            program: ['gzap']
                program[0]: no program "gzap" in PATH
                (":relative:/usr/local/bin:/usr/bin/:/bin")
            program: ['notes']
                program[0]: no program "notes" in PATH
                (":relative:/usr/local/bin:/usr/bin/:/bin")
            program: ['folder']
                program[0]: no program "folder" in PATH
                (":relative:/usr/local/bin:/usr/bin/:/bin")
            program: ['/usr/bin/nope']
                program[0]: "/usr/bin/nope" does not exist
            program: ['/usr/bin']
                program[0]: "/usr/bin" is a directory, must be a program
            program: ['/etc/passwd']
                program[0]: "/etc/passwd" is not executable
            timeout: 30
                timeout: must be a string such as "30s", is a number: add its unit (ms, s, m or
                h)
            timeout: true
                timeout: must be a string such as "30s", is true
            timeout: '30'
                timeout: must be a duration such as "250ms", "30s", "5m" or "1h" or "none", is
                "30"
            timeout: '0s'
                timeout: must be 1ms…24h or "none", is "0s"
            timeout: '86400001ms'
                timeout: must be 1ms…24h or "none", is "86400001ms"
            memoryLimit: 'rss'
                memoryLimit: must be one of "auto", "cgroup", "resident", "addressSpace", is "rss"
            jobArguments: ['-v']
                jobArguments: must be a section such as { NAME: "value" }, is a list
            jobArguments: { 'v': 'flag' }
                jobArguments.v: the name of an argument begins with "-" and has 2…64 bytes, none
                of them "=" or zero
            jobArguments: { '--': 'flag' }
                jobArguments.--: ends a program's options, and is none: write it into program,
                behind "{arguments}"
            jobArguments: { '-v': 'maybe' }
                jobArguments.-v: must be one of "flag", "joined", "separate", is "maybe"
            jobEnvironment: 'TZ'
                jobEnvironment: must be a list of at most 1024 names such as ["TZ"], is a string
            jobEnvironment: ['LD_PRELOAD']
                jobEnvironment[0]: "LD_PRELOAD" may not be set by a job: it could choose the code
                that runs
            jobEnvironment: ['WORKERD_JOB']
                jobEnvironment[0]: "WORKERD_JOB" may not be set by a job: it could choose the code
                that runs
            graceAfterTerm: 'none'
                graceAfterTerm: must be a duration such as "250ms", "30s", "5m" or "1h", is
                "none"
            whenStoreAway: 'stop'
                whenStoreAway: must be one of "finish", "kill", is "stop"
            graceAfterTerm: '61m'
                graceAfterTerm: must be 0ms…1h, is "61m"
            maxOutput: 0
                maxOutput: must be 1…1GB, is 0
            maxOutput: 1073741825
                maxOutput: must be 1…1GB, is 1073741825
            maxOutput: '2GB'
                maxOutput: must be 1…1GB, is "2GB"
            maxOutput: '8mb'
                maxOutput: must be a size such as "64KB", "8MB" or "1GB", is "8mb"
            maxOutput: []
                maxOutput: must be a size such as "8MB", is a list
            maxOutput: 1.5
                maxOutput: must be a whole number, is 1.5
            maxMemory: '1023KB'
                maxMemory: must be 1MB…1024GB, is "1023KB"
            maxMemory: '1025GB'
                maxMemory: must be 1MB…1024GB, is "1025GB"
            directory: 'here'
                directory: must be an absolute path such as "/var/lib/images", is "here"
            directory: '/no'
                directory: "/no" does not exist
            directory: '/etc/passwd'
                directory: "/etc/passwd" is not a directory
            environment: ['A=b']
                environment: must be a section such as { NAME: "value" }, is a list
            environment: { A: 1 }
                environment.A: must be a string such as "C.UTF-8", is a number
            environment: { A: '1', A: '2' }
                environment.A: is given twice, first at line 2, column 34
            environment: { 'A=B': '' }
                environment."A=B": the name of a variable has 1…1024 bytes, none of them "=" or
                zero
            environment: { '': '' }
                environment."": the name of a variable has 1…1024 bytes, none of them "=" or
                zero
            retries: 101
                retries: must be 0…100, is 101
            retry: 3
                retry: must be one of "aside", "block", is a number
            retry: 'never'
                retry: must be one of "aside", "block", is "never"
            attempts: 3
                attempts: unknown key, known are "worker", "program", "timeout",
                "graceAfterTerm", "whenStoreAway", "maxOutput", "maxMemory",
                "memoryLimit", "directory", "environment", "passEnvironment",
                "inheritEnvironment", "jobArguments", "jobEnvironment", "expire",
                "retries", "retry"
            """#,
            more: [
                Mistake(
                    "program: ['" + String(repeating: "x', '", count: 1024) + "']",
                    "program: must have 1…1024 elements, has 1025"),
                Mistake(
                    "program: ['gzip', '" + String(repeating: "x", count: 129_025) + "']",
                    "program[1]: must have at most 129,024 bytes, has 129,025"),
                Mistake(
                    "directory: '/" + String(repeating: "d", count: 4095) + "'",
                    "directory: must have at most 4095 bytes, has 4096"),
            ]))
    func `a program that cannot be run as asked is a fault`(mistake: Mistake) {
        let program = mistake.text.hasPrefix("program:") ? "" : ", program: ['gzip']"
        #expect(
            sentences(configured("selectors: { z: { \(mistake.text)\(program) } }")) == [
                "selectors.z.\(mistake.expected)"
            ])
    }

    @Test(arguments: Configuration.Selector.builtInNames)
    func `a built-in selector cannot be redefined`(name: String) {
        #expect(
            sentences(configured("selectors: { \(name): { program: ['gzip'] } }")) == [
                "selectors.\(name): is built in and may not be redefined: choose another name"
            ])
    }

    @Test(arguments: [
        "", "s", "ms", "30", "30 s", " 30s", "30S", "30sec", "1.5s", "-1s", "+1s", "1s1s", "1d",
        "99999999999999999999s", "9223372036854775807h", "٣s",
    ])
    func `what is no duration is a fault`(text: String) {
        #expect(
            sentences(configured("shutdown: { grace: '\(text)' }")) == [
                "shutdown.grace: must be a duration such as \"250ms\", \"30s\", \"5m\" or \"1h\","
                    + " is \"\(text)\""
            ])
    }

    @Test(arguments: [
        "", "KB", "8", "8 MB", "8M", "8MiB", "8kb", "1.5GB", "-1KB", "1TB",
        "9223372036854775807KB", "99999999999999999999KB",
    ])
    func `what is no size is a fault`(text: String) {
        #expect(
            sentences(configured("limits: { payload: '\(text)' }")) == [
                "limits.payload: must be a size such as \"64KB\", \"8MB\" or \"1GB\","
                    + " is \"\(text)\""
            ])
    }

    @Test(
        arguments: Mistake.list(
            #"""
            payload: 0
                payload: must be 1…512MB, is 0
            payload: 536870913
                payload: must be 1…512MB, is 536870913
            connections: 0
                connections: must be 1…100,000, is 0
            connections: 100001
                connections: must be 1…100,000, is 100001
            outputBacklog: 1023
                outputBacklog: must be 1KB…16GB, is 1023
            outputBacklog: 17179869185
                outputBacklog: must be 1KB…16GB, is 17179869185
            pipeline: 0
                pipeline: must be 1…1,000,000, is 0
            pipeline: 1000001
                pipeline: must be 1…1,000,000, is 1000001
            failuresFor: '1d'
                failuresFor: must be a duration such as "250ms", "30s", "5m" or "1h", is "1d"
            retainedFailures: -1
                retainedFailures: must be 0…10,000,000, is -1
            retainedResults: -1
                retainedResults: must be 0…10,000,000, is -1
            retainedResults: 10000001
                retainedResults: must be 0…10,000,000, is 10000001
            retainedBytes: -1
                retainedBytes: must be 0…1024GB, is -1
            retainedBytes: 1099511627777
                retainedBytes: must be 0…1024GB, is 1099511627777
            retainedFor: '8761h'
                retainedFor: must be 0ms…8760h, is "8761h"
            """#))
    func `a limit out of its range is a fault`(mistake: Mistake) {
        #expect(
            sentences(configured("limits: { \(mistake.text) }")) == ["limits.\(mistake.expected)"])
    }

    @Test func `a grace of more than a day is a fault`() {
        #expect(
            sentences(configured("shutdown: { grace: '25h' }")) == [
                "shutdown.grace: must be 0ms…24h, is \"25h\""
            ])
    }

    @Test func `a store at the place of the socket is a fault`() {
        #expect(
            sentences(configured("store: '/tmp/w'")) == [
                "store: is the path of listen.unix too: give each its own"
            ])
    }

    @Test func `a store that is no string is a fault`() {
        #expect(
            sentences(configured("store: {}")) == [
                "store: must be a string such as \"/var/lib/workerd/jobs.sqlite\", is a section"
            ])
    }

    @Test(arguments: [
        (
            "jobs.sqlite",
            "must be \"memory\", an absolute path such as \"/var/lib/workerd/jobs.sqlite\" or the "
                + "address of a database such as \"postgresql:///jobs\", is \"jobs.sqlite\""
        ),
        (
            "postgresql://db.example.org",
            "must name a database such as \"postgresql:///jobs?host=/run/postgresql\", and does not"
        ),
        ("/tmp", "\"/tmp\" is a directory, must be the path of a file in one"),
        ("/nowhere/jobs.sqlite", "there is no directory \"/nowhere\" for the file"),
        ("/tmp/jobs.sqlite/", "there is no directory \"/tmp/jobs.sqlite\" for the file"),
    ])
    func `a store at no possible place is a fault`(text: String, sentence: String) {
        #expect(sentences(configured("store: '\(text)'")) == ["store: \(sentence)"])
    }
}
