// Proves files and directories in a directory of the test's own.

import Glibc
import Kernel
import Support
import Testing

@Suite struct FileTests {
    let directory: TestDirectory

    init() throws {
        directory = try TestDirectory()
    }

    @Test func `what is written is read back`() throws {
        let bytes: [UInt8] = [0, 1, 255]
        try File.write([9, 9, 9, 9, 9], to: directory.file("a"))
        try File.write(bytes, to: directory.file("a"), mode: 0o600)
        #expect(try File.read(directory.file("a"), atMost: 100) == bytes)
    }

    @Test func `a file as long as allowed is read, one byte more is refused`() throws {
        let path = directory.file("a")
        try File.write([1, 2, 3], to: path)
        #expect(try File.read(path, atMost: 3) == [1, 2, 3])
        #expect(try File.read(path, atMost: Int.max) == [1, 2, 3])
        #expect(throws: SystemError(operation: "read \(path), at most 2 bytes", errno: EFBIG)) {
            try File.read(path, atMost: 2)
        }
    }

    @Test func `an empty file is read with a limit of nothing`() throws {
        try File.write([], to: directory.file("a"))
        #expect(try File.read(directory.file("a"), atMost: 0) == [])
    }

    @Test func `a file whose size the kernel does not know is read whole`() throws {
        let text = String(
            decoding: try File.read("/proc/self/status", atMost: 65_536), as: UTF8.self)
        #expect(text.hasPrefix("Name:") && text.contains("voluntary_ctxt_switches"))
    }

    @Test func `errors name the path`() throws {
        let path = directory.file("missing")
        #expect(throws: SystemError(operation: "open \(path)", errno: ENOENT)) {
            try File.read(path, atMost: 1)
        }
        #expect(throws: SystemError(operation: "read \(directory.path)", errno: EISDIR)) {
            try File.read(directory.path, atMost: 1)
        }
        #expect(throws: SystemError(operation: "unlink \(path)", errno: ENOENT)) {
            try File.remove(path)
        }
    }

    @Test func `the kind of a path is told`() throws {
        try File.write([], to: directory.file("plain"), mode: 0o600)
        try File.write([], to: directory.file("program"), mode: 0o700)
        let address = try SocketAddress(directory.file("socket"))
        let listener = try Listener(at: address)
        #expect(try File.kind(of: directory.file("plain")) == .regular(isExecutable: false))
        #expect(try File.kind(of: directory.file("program")) == .regular(isExecutable: true))
        #expect(try File.kind(of: directory.file("socket")) == .socket)
        #expect(try File.kind(of: directory.path) == .directory)
        #expect(try File.kind(of: "/dev/null") == .other)
        #expect(try File.kind(of: directory.file("missing")) == nil)
        #expect(try File.kind(of: directory.file("plain/below")) == nil)
        _ = consume listener
    }

    @Test func `a regular file is read, links followed, and no other one`() throws {
        let path = directory.file("file")
        try File.write([1], to: path)
        try #require(unsafe symlink(path, directory.file("link")) == 0)
        for path in [path, directory.file("link")] {
            #expect(try File.readRegular(path, atMost: 1) == [1])
        }
        try #require(unsafe mkfifo(directory.file("pipe"), 0o600) == 0)
        try #require(unsafe symlink("pipe", directory.file("link to it")) == 0)
        try #require(unsafe mknod(directory.file("socket"), S_IFSOCK | 0o600, 0) == 0)
        for (path, kind) in [
            (directory.file("pipe"), "a named pipe"), (directory.path, "a directory"),
            (directory.file("link to it"), "a named pipe"), ("/dev/null", "a device"),
            (directory.file("socket"), "a socket"),
        ] {
            let fault = #expect(throws: UnreadableFile.self) {
                try File.readRegular(path, atMost: 1)
            }
            #expect(fault == .notRegular(path: path, kind: kind))
            #expect(fault?.description == "\(path) is \(kind), not a regular file")
        }
        let missing = directory.file("missing")
        #expect(
            throws: UnreadableFile.system(SystemError(operation: "open \(missing)", errno: ENOENT))
        ) {
            try File.readRegular(missing, atMost: 1)
        }
    }

    @Test(arguments: [
        ("/dev/stdin", true), ("/dev/fd/63", true), ("/proc/self/fd/0", true),
        ("/dev/fd/", false), ("/dev/fd/a", false), ("/dev/fd/1/x", false), ("/etc/stdin", false),
    ])
    func `a path of a descriptor of this process is known`(_ path: String, _ isOne: Bool) {
        #expect(File.isOwnDescriptor(path) == isOne)
    }

    @Test func `a renamed file takes the place of another`() throws {
        try File.write([1], to: directory.file("a"))
        try File.write([2], to: directory.file("b"))
        try File.rename(directory.file("b"), to: directory.file("a"))
        #expect(try File.read(directory.file("a"), atMost: 10) == [2])
        #expect(try Directory.names(in: directory.path) == ["a"])
    }

    @Test func `a directory is made once, and not in a file's place`() throws {
        let path = directory.file("inner")
        try Directory.create(path)
        try Directory.create(path)
        #expect(try File.kind(of: path) == .directory)
        try Directory.remove(path)
        try File.write([], to: path)
        #expect(throws: SystemError(operation: "mkdir \(path)", errno: ENOTDIR)) {
            try Directory.create(path)
        }
    }

    @Test func `a directory's names are listed, and a temporary one is its owner's only`() throws {
        #expect(try Directory.names(in: directory.path).isEmpty)
        for name in ["b", ".hidden", "a"] { try File.write([], to: directory.file(name)) }
        #expect(try Directory.names(in: directory.path).sorted() == [".hidden", "a", "b"])
        #expect(try File.mode(of: directory.path) == 0o700)
        #expect(throws: SystemError(operation: "opendir /nowhere", errno: ENOENT)) {
            try Directory.names(in: "/nowhere")
        }
    }

    @Test(arguments: [
        ("/a/b/c", "/a/b"), ("/a/b/", "/a/b"), ("/a", "/"), ("/", "/"), ("a/b", "a"), ("a", "."),
    ])
    func `a path's parent stands in front of its last slash`(_ path: String, _ parent: String) {
        #expect(Directory.parent(of: path) == parent)
    }

    @Test(arguments: [("/a", "/a/b"), ("/a/", "/a/b"), ("/", "/b")])
    func `a name in a directory is one slash behind it`(_ directory: String, _ path: String) {
        #expect(Directory.path(of: "b", in: directory) == path)
    }

    @Test func `a missing standard stream is replaced before anything can take its number`() throws
    {
        let run = try ProgramRun(built: "ProgramDescriptors", ["missing-streams"])
        #expect(run.status == .exited(0), "\(run.output)")
    }

    @Test func `a pipe never gets the number of a closed standard stream`() throws {
        let run = try ProgramRun(built: "ProgramDescriptors", ["pipe-without-streams"])
        #expect(run.status == .exited(0), "\(run.output)")
    }
}
