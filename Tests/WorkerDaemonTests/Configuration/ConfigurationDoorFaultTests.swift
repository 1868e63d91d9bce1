// That doors and threads which cannot be made as configured are told, each in a sentence.

internal import Testing
internal import WorkerDaemon

@Suite struct ConfigurationDoorFaultTests {
    @Test(
        arguments: Mistake.list(
            #"""
            unix: 1
                listen.unix: must be a string such as "/run/workerd/workerd.sock", is a number
            unix: 'w'
                listen.unix: must be an absolute path such as "/run/workerd/workerd.sock", is
                "w"
            unix: ''
                listen.unix: must be an absolute path such as "/run/workerd/workerd.sock", is ""
            unix: '/tmp/a\0b'
                listen.unix: must not contain a zero byte
            unix: '/tmp'
                listen.unix: "/tmp" is a directory, must be the path of a socket in one
            unix: '/no/w'
                listen.unix: there is no directory "/no" for the socket
            unix: '/etc/passwd/w'
                listen.unix: there is no directory "/etc/passwd" for the socket
            unix: '/w', unixMode: 600
                listen.unixMode: must be a string such as "0600", is a number
            unix: '/w', unixMode: '0800'
                listen.unixMode: must be an octal mode, "0000"…"0777", is "0800"
            unix: '/w', unixMode: '1000'
                listen.unixMode: must be an octal mode, "0000"…"0777", is "1000"
            unix: '/w', unixMode: '60'
                listen.unixMode: must be an octal mode, "0000"…"0777", is "60"
            tcp: '127.0.0.1:1', passwordFile: '/etc/passwd', unixMode: '600'
                listen.unixMode: is of no use without unix: add unix or remove it
            tcp: '127.0.0.1:7711'
                listen.tcp: is served only with a password: add passwordFile, or a users file
            tcp: 7711, passwordFile: '/etc/passwd'
                listen.tcp: must be a string such as "127.0.0.1:7711", is a number
            tcp: '10.0.0.1:7711', passwordFile: '/etc/passwd'
                listen.tcp: is 10.0.0.1:7711, which other machines reach: add tls: { certificate,
                key }, or plaintext: true if every machine on the way is trusted, or take a
                loopback address (127.…)
            tcp: '10.0.0.1:7711', passwordFile: '/etc/passwd', plaintext: false
                listen.tcp: is 10.0.0.1:7711, which other machines reach: add tls: { certificate,
                key }, or plaintext: true if every machine on the way is trusted, or take a
                loopback address (127.…)
            unix: '/w', plaintext: true
                listen.plaintext: is of no use without tcp: add tcp or remove it
            unix: '/w', tls: { certificate: '/etc/passwd', key: '/etc/passwd' }
                listen.tls: is of no use without tcp: add tcp or remove it
            tcp: '127.0.0.1:1', passwordFile: '/etc/passwd', tcpAnywhere: true
                listen.tcpAnywhere: is now tls: { certificate, key }, or plaintext: true on purpose
            unix: '/w', passwordFile: '/etc/passwd'
                listen.passwordFile: is of no use without tcp: add tcp or remove it
            tcp: '127.0.0.1:1', passwordFile: '/no'
                listen.passwordFile: "/no" does not exist
            tcp: '127.0.0.1:1', passwordFile: '/tmp'
                listen.passwordFile: "/tmp" is a directory, must be a file
            tcp: '127.0.0.1:1', passwordFile: '/etc/workerd/empty'
                listen.passwordFile: "/etc/workerd/empty" has no password in its first line
            tcp: '127.0.0.1:1', passwordFile: '/etc/passwd', plaintext: 'yes'
                listen.plaintext: must be true or false, is a string
            unix: '/w', http: null
                listen.http: must be a section { … }, is null
            unix: '/w', http: {}
                listen.http.unix: is missing: HTTP needs a door, such as unix:
                "/run/workerd/http.sock"
            unix: '/w', http: { tcp: '127.0.0.1:1' }
                listen.http.tcp: is served only with a key: add keyFile, or a users file
            unix: '/w', http: { tcp: '10.0.0.1:1', keyFile: '/etc/passwd' }
                listen.http.tcp: is 10.0.0.1:1, which other machines reach: add tls: { certificate,
                key }, or plaintext: true if every machine on the way is trusted, or take a
                loopback address (127.…)
            unix: '/w', http: { tcp: '127.0.0.1:1', keyFile: '/etc/workerd/empty' }
                listen.http.keyFile: "/etc/workerd/empty" has no key in its first line
            unix: '/w', http: { unix: '/h', plaintext: true }
                listen.http.plaintext: is of no use without tcp: add tcp or remove it
            unix: '/w', http: { unix: '/h', names: ['a'] }
                listen.http.names: is of no use without tcp: add tcp or remove it
            unix: '/w', http: { tcp: '127.0.0.1:1', keyFile: '/etc/passwd', unixMode: '0600' }
                listen.http.unixMode: is of no use without unix: add unix or remove it
            unix: '/w', http: { tcp: '127.0.0.1:1', keyFile: '/etc/passwd', names: 'a' }
                listen.http.names: must be a list of at most 64 names such as ["jobs.lan"], is a
                string
            unix: '/w', http: { tcp: '127.0.0.1:1', keyFile: '/etc/passwd', names: ['a:1'] }
                listen.http.names[0]: must be the name of a host such as "jobs.lan", is "a:1"
            """#,
            more: [
                Mistake(
                    "unix: '/tmp/" + String(repeating: "s", count: 103) + "'",
                    "listen.unix: must have at most 107 bytes, has 108")
            ]))
    func `a door that cannot be opened is a fault`(mistake: Mistake) {
        #expect(sentences(configured("", listen: mistake.text)) == [mistake.expected])
    }

    @Test(
        arguments: Mistake.list(
            #"""
            tls: true
                listen.tls: must be a section { … }, is true
            tls: { key: '/etc/passwd' }
                listen.tls.certificate: is missing, such as "/etc/workerd/cert.pem"
            tls: { certificate: '/etc/passwd' }
                listen.tls.key: is missing, such as "/etc/workerd/key.pem"
            tls: { certificate: 'c', key: '/etc/passwd' }
                listen.tls.certificate: must be an absolute path such as "/etc/workerd/cert.pem",
                or "$CREDENTIALS_DIRECTORY/NAME", is "c"
            tls: { certificate: '/etc/passwd', key: '/no' }
                listen.tls.key: "/no" does not exist
            tls: { certificate: '/tmp', key: '/etc/passwd' }
                listen.tls.certificate: "/tmp" is a directory, must be a file
            tls: { certificate: '/etc/passwd', key: '/etc/passwd', requireClient: true }
                listen.tls.requireClient: needs clients, a file with the authorities of their
                certificates
            plaintext: true, tls: { certificate: '/etc/passwd', key: '/etc/passwd' }
                listen.plaintext: contradicts tls: remove one of them
            """#))
    func `TLS that cannot be had is a fault`(mistake: Mistake) {
        let door = "tcp: '10.0.0.1:1', passwordFile: '/etc/passwd', \(mistake.text)"
        #expect(sentences(configured("", listen: door)) == [mistake.expected])
    }

    @Test(arguments: [
        "", ":1", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.0.0.1:+1", "127.0.0.256:1", "127.0.0:1", "127.0.0.1.1:1", "127.0..1:1", "0127.0.0.1:1",
        "127.0.0.1:07711", "localhost:7711", "[::1]:7711", "127.0.0.1:7711:1", " 127.0.0.1:1",
        "127.0.0.١:1", "127.0.0.1:99999999999999999999",
    ])
    func `what is no address and port is a fault`(address: String) {
        #expect(
            sentences(configured("", listen: "tcp: '\(address)', passwordFile: '/etc/passwd'")) == [
                "listen.tcp: must be an IPv4 address and a port such as \"127.0.0.1:7711\","
                    + " is \"\(address)\""
            ])
    }

    @Test(
        arguments: Mistake.list(
            #"""
            a: { count: 1025 }
                threads.a.count: must be 1…1024, is 1025
            a: { count: -0x1 }
                threads.a.count: must be 1…1024, is -0x1
            a: { count: NaN }
                threads.a.count: must be 1…1024, is NaN
            a: { count: Infinity }
                threads.a.count: must be 1…1024, is Infinity
            a: { count: 1.5 }
                threads.a.count: must be a whole number, is 1.5
            a: { count: '4' }
                threads.a.count: must be a number, is a string
            a: { count: null }
                threads.a.count: must be a number, is null
            a: { maxQueued: 0 }
                threads.a.maxQueued: must be 1…10,000,000, is 0
            a: { maxQueued: 10000001 }
                threads.a.maxQueued: must be 1…10,000,000, is 10000001
            a: { whenFull: 'wait' }
                threads.a.whenFull: must be "refuse", is "wait"
            a: { whenFull: true }
                threads.a.whenFull: must be "refuse", is true
            a: 4
                threads.a: must be a section { … }, is a number
            a: []
                threads.a: must be a section { … }, is a list
            '': {}
                threads."": a name is 1…64 of the characters A-Z a-z 0-9 _ . -
            größe: {}
                threads."größe": a name is 1…64 of the characters A-Z a-z 0-9 _ . -
            a: {}, 'b.c': { count: 0 }
                threads."b.c".count: must be 1…1024, is 0
            io: {}
                threads.io: is a thread of the daemon itself: choose another name
            backup: {}
                threads.backup: is a thread of the daemon itself: choose another name
            a:{count:1024},b:{count:1024},c:{count:1024},d:{count:1024},e:{}
                threads: must be at most 4096 threads together, are 4097
            """#))
    func `a thread that cannot be made is a fault`(mistake: Mistake) {
        #expect(sentences(configured("", threads: mistake.text)) == [mistake.expected])
    }

    @Test func `a name of 65 bytes is a fault`() {
        let name = String(repeating: "n", count: 65)
        #expect(
            sentences(configured("", threads: "\(name): {}")) == [
                "threads.\"\(name.dropLast())…\": a name is 1…64 of the characters"
                    + " A-Z a-z 0-9 _ . -"
            ])
    }

    @Test func `threads that are no section are one fault`() {
        #expect(
            sentences("{ listen: { unix: '/w' }, threads: 4 }") == [
                "threads: must be a section such as { name: { … } }, is a number"
            ])
    }
}
