// Paths of a configuration that lead to something else than a regular file: opening a named pipe
// waits for its writer.

import Glibc
import Kernel
import RESP
import Support
import Testing

@Suite(.timeLimit(.minutes(2))) struct `A file that is not a regular one` {
    /// A directory in place of other files has always been named.
    private static func kinds(inPlaceOf name: String) -> [String] {
        let all = ["a named pipe", "a directory", "a socket"]
        return ["users", "workerd.json5"].contains(name) ? all : all.filter { $0 != all[1] }
    }

    /// Puts something of a kind in the place of a file.
    private func put(_ kind: String, at path: String) throws {
        try? File.remove(path)
        switch kind {
        case "a named pipe": try #require(unsafe mkfifo(path, 0o600) == 0)
        case "a directory": try #require(unsafe mkdir(path, 0o700) == 0)
        default: try #require(unsafe mknod(path, S_IFSOCK | 0o600, 0) == 0)
        }
    }

    private func authorities() throws -> [UInt8] {
        try File.read(TestAuthority.shared().certificate, atMost: 1 << 20)
    }

    private func settings(in scratch: Scratch) throws -> Setup {
        try scratch.writeUsers([TestUser("ann", ["observe"])])
        let door = try scratch.passwordDoor(
            at: try freeLoopbackAddress().text, password: "open sesame")
        return Setup(
            listen: "\(door), \(try TestAuthority.door(in: scratch, more: "clients: \"$DIR/ca\""))",
            more: "users: \"$DIR/users\",")
    }

    private static let files = [
        ("users", "users: "), ("cert.pem", "listen.tls.certificate: "),
        ("key.pem", "listen.tls.key: "), ("ca", "listen.tls.clients: "),
        ("password", "listen.passwordFile: "), ("workerd.json5", ""),
    ]

    @Test(arguments: files)
    func `is named by a start and a check, which end`(
        file: (name: String, setting: String)
    ) throws {
        for kind in Self.kinds(inPlaceOf: file.name) { try check(kind, inPlaceOf: file) }
    }

    private func check(_ kind: String, inPlaceOf file: (name: String, setting: String)) throws {
        let scratch = try Scratch()
        let setup = try settings(in: scratch)
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        try File.write(authorities(), to: scratch.file("ca"))
        let path = scratch.file(file.name)
        try put(kind, at: path)
        let fault =
            file.setting.isEmpty
            ? "\(path): cannot be read: it is \(kind), not a regular file"
            : "\(file.setting)\(path) is \(kind), not a regular file"
        // A check reads no password.
        for more in file.name == "password" ? [[]] : [[], ["--check"]] {
            let daemon = try TestDaemon(
                arguments: ["--config", scratch.file("workerd.json5")] + more, in: scratch)
            defer { daemon.kill() }
            #expect(try daemon.end() == "exit status 78")
            #expect(daemon.log.contains(fault), "\(daemon.log)")
        }
    }

    @Test func `is named by a reload, which changes nothing`() throws {
        let scratch = try Scratch()
        var setup = try settings(in: scratch)
        setup.log = "level: \"debug\""
        try File.write(authorities(), to: scratch.file("ca"))
        let daemon = try TestDaemon(setup, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        for (name, setting) in Self.files {
            let (path, aside) = (scratch.file(name), scratch.file("aside"))
            try File.rename(path, to: aside)
            for kind in Self.kinds(inPlaceOf: name) {
                try put(kind, at: path)
                let message = try client.call("RELOAD").errorMessage ?? ""
                #expect(message.hasPrefix("\(setting)\(path)"), "\(message)")
                #expect(message.hasSuffix("\(kind), not a regular file"), "\(message)")
                if kind == "a directory" { try Directory.remove(path) }
            }
            try? File.remove(path)
            // A link to a regular file is as good as that.
            try #require(unsafe symlink(aside, path) == 0)
            #expect(try client.call("RELOAD").texts == [])
            try File.rename(aside, to: path)
        }
    }

    @Test(arguments: [
        "exec \"$0\" --config <(cat \"$1\") --check",
        "cat \"$1\" | \"$0\" --config /dev/stdin --check",
        "\"$0\" --config /dev/stdin --check <\"$1\"",
    ])
    func `may be a pipe that the start was given`(order: String) throws {
        let scratch = try Scratch()
        try scratch.write(Setup().text(directory: scratch.path), to: "workerd.json5")
        let daemon = try TestDaemon(
            arguments: [
                "-c", order, "\(try productsDirectory())/workerd", scratch.file("workerd.json5"),
            ], in: scratch, path: "/bin/bash")
        defer { daemon.kill() }
        #expect(try daemon.end() == "exit status 0")
        #expect(try daemon.output().hasSuffix(": no fault\n"), "\(daemon.log)")
    }
}
