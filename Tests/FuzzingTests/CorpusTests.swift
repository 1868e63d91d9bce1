// Promises of the readers of bytes from outside, for interesting bytes and for random changes of
// them. Scripts/fuzz looks for more.

import Fuzzing
import Kernel
import Support
import Testing

@Suite struct `A reader of bytes from outside` {
    private static let changesOfEach = 200

    @Test(.timeLimit(.minutes(2)), arguments: FuzzTarget.allCases)
    func `keeps its promises whatever the bytes are`(target: FuzzTarget) throws {
        let folder = "Tests/FuzzingTests/Corpora/\(target.rawValue)"
        let names = try Directory.names(in: "\(repositoryDirectory)/\(folder)").sorted()
        #expect(names.count > 3)
        var random = SeededRandom(seed: UInt64(names.count))
        var corpus: [[UInt8]] = []
        for name in names {
            let bytes = try repositoryFile("\(folder)/\(name)")
            target.read(bytes)
            corpus.append(bytes)
        }
        for bytes in corpus {
            for _ in 0..<Self.changesOfEach {
                target.read(change(bytes, corpus, &random))
            }
        }
    }

    /// A few changes, as libFuzzer makes them.
    private func change(
        _ bytes: [UInt8], _ corpus: [[UInt8]], _ random: inout SeededRandom
    ) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let place = Int.random(in: 0...bytes.count, using: &random)
            let count = min(bytes.count - place, Int.random(in: 1...8, using: &random))
            switch Int.random(in: 0...4, using: &random) {
            case 0 where place < bytes.count:
                bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
            case 2: bytes.removeSubrange(place..<place + count)
            case 3: bytes.insert(contentsOf: bytes[place..<place + count], at: place)
            default:
                let other = corpus.randomElement(using: &random) ?? []
                let from = Int.random(in: 0...other.count, using: &random)
                bytes.replaceSubrange(place..<place + count, with: other[from...].prefix(32))
            }
        }
        return bytes
    }
}
