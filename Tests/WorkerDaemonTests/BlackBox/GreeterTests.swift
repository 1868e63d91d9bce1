// The README's first program, run as a reader would. That it is the file that is built, and what
// the others print, is looked after in DocumentationTests.

import Kernel
import RESP
import Support
import Testing

@Suite struct `The README's greeter` {
    @Test(.timeLimit(.minutes(2)))
    func `is a daemon of one's own in a dozen lines`() throws {
        // Its socket lies where it is started, so two runs of this are not in each other's way.
        let scratch = try Scratch()
        var child = try ChildProcess.spawn(
            ChildCommand(
                program: "\(try productsDirectory())/SnippetGreeter",
                environment: environmentOfNoService(),
                workingDirectory: scratch.path))
        var client: TestClient?
        try eventually("the greeter listens") {
            if child.hasEnded { throw Unexpected("the greeter ended at once") }
            client = try? TestClient(.unix(UnixAddress(scratch.file("greeter.sock"))))
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
}
