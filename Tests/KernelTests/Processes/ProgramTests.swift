// Proves that programs are found by name, without starting any.

import Glibc
import Kernel
import Support
import Testing

@Suite struct ProgramTests {
    let directory: TestDirectory

    init() throws {
        directory = try TestDirectory()
    }

    @Test func `a name is looked for in the directories in turn`() throws {
        try File.write([], to: directory.file("tool"), mode: 0o700)
        #expect(
            try Program.find("tool", in: "/nowhere:\(directory.path):/bin")
                == directory.file("tool"))
        #expect(try Program.find("tool", in: "\(directory.path)/") == directory.file("tool"))
        #expect(try Program.find("sh", in: "\(directory.path):/bin") == "/bin/sh")
    }

    @Test func `a program that is found nowhere is named with the places`() {
        #expect(
            throws: ProgramError.notFound(name: "tool", searched: [directory.path, "/nowhere"])
        ) {
            try Program.find("tool", in: "\(directory.path):/nowhere")
        }
        #expect(throws: ProgramError.notFound(name: "/nowhere/tool", searched: [])) {
            try Program.find("/nowhere/tool", in: "/bin")
        }
        #expect(throws: ProgramError.notFound(name: "", searched: ["/bin"])) {
            try Program.find("", in: "/bin")
        }
    }

    @Test func `what cannot be executed is passed over, and named when nothing else is there`()
        throws
    {
        try File.write([], to: directory.file("sh"), mode: 0o600)
        #expect(try Program.find("sh", in: "\(directory.path):/bin") == "/bin/sh")
        #expect(throws: ProgramError.notExecutable(path: directory.file("sh"))) {
            try Program.find("sh", in: directory.path)
        }
        #expect(throws: ProgramError.notExecutable(path: directory.file("sh"))) {
            try Program.find(directory.file("sh"), in: "")
        }
        #expect(throws: ProgramError.notExecutable(path: directory.path)) {
            try Program.find(directory.path, in: "")
        }
    }

    @Test func `nothing depends on the working directory`() {
        #expect(throws: ProgramError.relative(path: "bin/tool")) {
            try Program.find("bin/tool", in: "/")
        }
        #expect(throws: ProgramError.notFound(name: "sh", searched: [])) {
            try Program.find("sh", in: ":.:bin:../../../../bin:")
        }
    }

    @Test func `the errors say what to do`() {
        let missing = ProgramError.notFound(name: "a", searched: ["/x", "/y"])
        #expect(missing.description == "a: no such program in /x:/y")
        #expect(ProgramError.notExecutable(path: "/a").description.contains("chmod"))
    }
}
