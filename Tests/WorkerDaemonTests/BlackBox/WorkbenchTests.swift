// The measuring program in a small size, so that it cannot rot unseen. Nothing is judged by time.

import Kernel
import Support
import Testing

@Suite struct `The workbench` {
    @Test(.timeLimit(.minutes(4)), arguments: ["idle", "post", "wake"])
    func `runs each scenario in a small size`(scenario: String) throws {
        let command = ChildCommand(
            program: "\(try productsDirectory())/workbench", arguments: [scenario, "--quick"])
        var child = try ChildProcess.spawn(command)
        child.closeInput()
        guard let output = child.takeOutput() else { throw Unexpected("its output was taken") }
        let bytes = try output.readEverything("the workbench's output", atMost: 1 << 20)
        _ = isReady(child.endDescriptor.number, for: 1, within: patienceMilliseconds)
        #expect(child.reap() == .exited(0))
        #expect(String(decoding: bytes, as: UTF8.self).contains("WorkerThread"))
    }
}
