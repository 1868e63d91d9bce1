// The scope of process numbers as this machine tells it.

import Kernel
import Testing

@Suite struct `The scope of process numbers` {
    @Test func `names the machine, its start and the name space`() throws {
        let scope = try #require(ProcessScope.own)
        #expect(scope.machine.suffix(HostName.own.utf8.count).elementsEqual(HostName.own.utf8))
        // A UUID and a line feed.
        #expect(scope.start.count == 37)
        #expect(String(decoding: scope.numbers, as: UTF8.self).hasPrefix("pid:["))
    }
}
