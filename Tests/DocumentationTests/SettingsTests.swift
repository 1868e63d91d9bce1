// The sample configuration promises to explain every setting.

import Testing

@Suite struct `The sample configuration` {
    @Test func `has every key that is read`() throws {
        var keys: Set<Substring> = []
        for path in try files(below: "Sources/WorkerDaemon/Configuration", ending: ".swift") {
            keys.formUnion(try text(path).matches(of: /"(\w+)", into:/).map(\.1))
        }
        let sample = try text("Config/workerd.json5")
        #expect(keys.count > 60)
        #expect(keys.filter { !sample.contains("\($0): ") } == [])
    }
}
