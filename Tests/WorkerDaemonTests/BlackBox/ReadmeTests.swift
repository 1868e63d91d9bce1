// The programs of the README are files of this package: what a reader copies is what is built here,
// and it prints what the README says.

import Kernel
import RESP
import Testing

@Suite struct `The README's programs` {
    @Test(.timeLimit(.minutes(4)), arguments: ["Greeter", "Pool", "LedgerActor"])
    func `are the files that are built`(name: String) throws {
        let program = try text("Tests/Snippets/\(name)/main.swift")
        #expect(try text("README.md").contains("```swift\n\(program)```"))
    }

    @Test(.timeLimit(.minutes(4)), arguments: ["Pool", "LedgerActor"])
    func `print what is printed below them`(name: String) throws {
        let program = try text("Tests/Snippets/\(name)/main.swift")
        var child = try start("Snippet\(name)")
        let output = try output(of: &child)
        #expect(try text("README.md").contains("```swift\n\(program)```\n\n```text\n\(output)```"))
        #expect(child.reap() == .exited(0))
    }

    @Test(.timeLimit(.minutes(4)))
    func `a daemon of one's own in a dozen lines`() throws {
        var child = try start("SnippetGreeter")
        var client: TestClient?
        try eventually("the greeter listens") {
            if child.hasEnded { throw Unexpected("the greeter ended at once") }
            client = try? TestClient(.unix(UnixAddress("/tmp/greeter.sock")))
            return client != nil
        }
        let redis = try #require(client)
        let greeting = try redis.call("PERFORM", "front-desk", "greet", "WAIT", "world")
        #expect(greeting.text == "hello, world")
        let meal = try redis.call("PERFORM", "kitchen", "cook", "WAIT", "pancakes")
        #expect(meal.text == "pancakes, by job 2")
        try Signal.terminate.send(toProcess: child.processID)
        _ = isReady(child.endDescriptor.number, for: 1, within: patienceMilliseconds)
        #expect(child.reap() == .exited(0))
    }

    private func start(_ product: String) throws -> ChildProcess {
        try ChildProcess.spawn(ChildCommand(program: "\(try productsDirectory())/\(product)"))
    }

    private func output(of child: inout ChildProcess) throws -> String {
        child.closeInput()
        guard let output = child.takeOutput() else { throw Unexpected("its output was taken") }
        let bytes = try output.readEverything("a snippet's output", atMost: 1 << 16)
        _ = isReady(child.endDescriptor.number, for: 1, within: patienceMilliseconds)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func text(_ path: String) throws -> String {
        String(decoding: try repositoryFile(path), as: UTF8.self)
    }
}
