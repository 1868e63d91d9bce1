// That no input whatsoever crashes the reader: random bytes, and the sample with random changes.

import Support
internal import Testing
internal import WorkerDaemon

@Suite struct ConfigurationGarbageTests {
    /// Reads arbitrary bytes; the outcome must be a configuration or faults.
    private func survive(_ bytes: [UInt8], _ seed: UInt64) -> Bool {
        do throws(ConfigurationError) {
            _ = try ConfigurationReader(files: .table).parse(bytes: bytes, fileName: "w.json5")
            return true
        } catch {
            let lineCount = error.description.split(separator: "\n").count
            #expect(
                lineCount == min(error.faults.count, 101), "seed \(seed): one line for each fault")
            return false
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `random bytes are faults`(seed: UInt64) {
        var numbers = SeededRandom(seed: seed)
        for _ in 0..<1000 {
            let count = Int.random(in: 0...80, using: &numbers)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &numbers) }
            #expect(!survive(bytes, seed), "seed \(seed)")
        }
    }

    @Test(arguments: [11, 12, 13, 14] as [UInt64])
    func `random words of JSON5 are read or are faults`(seed: UInt64) {
        let words = [
            "{", "}", "[", "]", ":", ",", "'", "\"", "\\", "\\u", "/*", "*/", "//", "\n", "\r",
            "listen", "unix", "threads", "selectors", "program", "limits", "a", "+", "-", ".", "0x",
            "1", "e", "Infinity", "NaN", "null", "true", "'30s'", "'gzip'", "é", "\u{2028}",
        ]
        var numbers = SeededRandom(seed: seed)
        for _ in 0..<1000 {
            let count = Int.random(in: 0...40, using: &numbers)
            let text = (0..<count).compactMap { _ in words.randomElement(using: &numbers) }.joined()
            #expect(!survive(Array(("{" + text).utf8), seed), "seed \(seed): nothing listens")
        }
    }

    @Test(arguments: [21, 22, 23, 24] as [UInt64])
    func `the sample with a few changes is read or is faulty, and one byte less is noticed`(
        seed: UInt64
    ) throws {
        let sample = try repositoryFile("Config/workerd.json5")
        var numbers = SeededRandom(seed: seed)
        var faultyCount = 0
        for _ in 0..<100 {
            var bytes = sample
            for _ in 0..<Int.random(in: 1...8, using: &numbers) {
                let index = Int.random(in: 0..<bytes.count, using: &numbers)
                switch Int.random(in: 0...3, using: &numbers) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &numbers)
                case 1: bytes.remove(at: index)
                case 2: bytes.insert(UInt8.random(in: 0...127, using: &numbers), at: index)
                default: bytes.removeSubrange(index..<min(index + 50, bytes.count))
                }
            }
            if !survive(bytes, seed) { faultyCount += 1 }
        }
        #expect(faultyCount > 0, "seed \(seed): none of the changes was noticed")
    }

    @Test func `a file of nothing but opening brackets is one fault`() {
        let brackets = [UInt8](repeating: UInt8(ascii: "["), count: 1 << 20)
        #expect(!survive(brackets, 0))
    }

    @Test func `a file of nothing but unknown keys is told in 101 lines`() {
        let text = "{" + (0..<5_000).map { "k\($0):1," }.joined() + "}"
        let error = #expect(throws: ConfigurationError.self) { try configuration(text) }
        #expect(error?.faults.count == 5_002)
        #expect(error?.description.split(separator: "\n").count == 101)
    }
}
