// A daemon whose standard error is not read.

import Glibc
import Kernel
import RESP
import Support
import Testing

@Suite struct `A log that nobody reads` {
    @Test(.timeLimit(.minutes(2)))
    func `stops neither jobs nor the end, and what is lost is counted`() throws {
        let scratch = try Scratch()
        try scratch.write(Setup().text(directory: scratch.path), to: "workerd.json5")
        var child = try ChildProcess.spawn(
            ChildCommand(
                program: "\(try productsDirectory())/workerd",
                arguments: ["--config", scratch.file("workerd.json5")],
                environment: environmentOfNoService()))
        guard let log = child.takeErrors() else { throw Unexpected("no log") }
        // Listens.
        try waitUntilReady(log.number)
        let address = SocketAddress.unix(try UnixAddress(scratch.file("s")))
        try eventually("it serves") { (try? TestClient(address).call("PING")) != nil }
        let client = try TestClient(address)
        // That each came and left is told: more than a pipe holds, all together.
        for _ in 0..<1_500 { _ = try TestClient(address).call("PING") }
        #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
        #expect(try client.figure("total_connections_received") > 1_500)

        var text = ""
        var bytes: [UInt8] = []
        func readAll() throws {
            while isReady(log.number, within: 100) {
                bytes.removeAll()
                guard case .bytes = try log.read(appendingTo: &bytes, atMost: 1 << 20) else {
                    return
                }
                text += String(decoding: bytes, as: UTF8.self)
            }
        }
        try readAll()
        _ = try TestClient(address).call("PING")
        try eventually("what is lost is told") {
            try readAll()
            return text.contains(" messages of the log are lost: nobody has read standard error\n")
        }
        for _ in 0..<1_500 { _ = try TestClient(address).call("PING") }
        try child.signalGroup(.terminate)
        #expect(isReady(child.endDescriptor.number))
        #expect(child.reap() == .exited(0))
    }
}
