// Makes a program smaller for as long as it still fails, so that a person can read it.

import Kernel

enum Shrinker {
    /// The smallest program that is found by leaving out one thing at a time.
    ///
    /// - Parameter fails: whether a program still shows the failure.
    static func shrink(_ program: Program, while fails: (Program) throws -> Bool) rethrows
        -> Program
    {
        var smallest = program
        var triesLeft = 2_000
        // A program that hangs for a second on each try is told as it is, rather than in an hour.
        let limit = SystemClock().now().advanced(by: .seconds(60))
        var isSmaller = true
        while isSmaller && triesLeft > 0 {
            isSmaller = false
            for candidate in smaller(smallest) {
                triesLeft -= 1
                if triesLeft <= 0 || SystemClock().now() > limit { return smallest }
                if try fails(candidate) {
                    smallest = candidate
                    isSmaller = true
                    break
                }
            }
        }
        return smallest
    }

    private static func smaller(_ program: Program) -> [Program] {
        var result = smaller(program.main).map { Program(items: program.items, main: $0) }
        for index in program.items.indices {
            let scripts = program.items[index].scripts
            func with(_ scripts: [[Operation]]) -> Program {
                var changed = program
                changed.items[index].scripts = scripts
                return changed
            }
            if scripts.contains(where: { !$0.isEmpty }) { result.append(with([])) }
            if program.items[index].makesCommon != nil {
                var changed = program
                changed.items[index].makesCommon = nil
                result.append(changed)
            }
            for path in [\Item.whenScheduled, \Item.whenCancelled] {
                for shorter in smaller(program.items[index][keyPath: path]) {
                    var changed = program
                    changed.items[index][keyPath: path] = shorter
                    result.append(changed)
                }
            }
            for (round, script) in scripts.enumerated() {
                for shorter in smaller(script) {
                    var changed = scripts
                    changed[round] = shorter
                    result.append(with(changed))
                }
            }
        }
        return result
    }

    /// Everything that is one thing less: halves first, then single operations, then insides.
    private static func smaller(_ operations: [Operation]) -> [[Operation]] {
        guard !operations.isEmpty else { return [] }
        var result: [[Operation]] = []
        if operations.count > 3 {
            let half = operations.count / 2
            result.append(Array(operations[half...]))
            result.append(Array(operations[..<half]))
        }
        for index in operations.indices {
            var changed = operations
            changed.remove(at: index)
            result.append(changed)
        }
        for (index, operation) in operations.enumerated() {
            for inside in insides(operation) {
                var changed = operations
                changed[index] = inside
                result.append(changed)
            }
        }
        return result
    }

    private static func insides(_ operation: Operation) -> [Operation] {
        switch operation {
        case .signal(let item, let caller) where caller != .itself:
            return [.signal(item, .itself)]
        case .changeFromElsewhere(let change): return [change.operation]
        case .holdUp(let places) where places > 1: return [.holdUp(places - 1)]
        case .wakeUp(let caller) where caller != .itself: return [.wakeUp(.itself)]
        case .stop(let caller) where caller != .itself: return [.stop(.itself)]
        case .enqueue(let block, let caller):
            return (caller == .itself ? [] : [.enqueue(block, .itself)])
                + insides(block).map { .enqueue($0, caller) }
        case .perform(let block, let caller):
            return [.enqueue(block, caller)] + (caller == .itself ? [] : [.perform(block, .itself)])
                + insides(block).map { .perform($0, caller) }
        case .run(let mode, .past, let returnsAfterSource):
            return [.run(mode, .poll, returnsAfterSource: returnsAfterSource)]
        case .run(let mode, .sleeps(let endings), let returnsAfterSource):
            return insides(endings).map {
                .run(mode, .sleeps($0), returnsAfterSource: returnsAfterSource)
            }
        default: return []
        }
    }

    private static func insides(_ block: Block) -> [Block] {
        var result = smaller(block.script).map { script in
            var changed = block
            changed.script = script
            return changed
        }
        if block.modes.count > 1 {
            for mode in block.modes {
                var changed = block
                changed.modes = [mode]
                result.append(changed)
            }
        }
        return result
    }

    private static func insides(_ endings: [Ending]) -> [[Ending]] {
        endings.indices.flatMap { index -> [[Ending]] in
            var shorter = endings
            shorter.remove(at: index)
            var simpler = endings
            simpler[index].caller = .itself
            var plain = endings
            plain[index] = Ending(act: .wakeUp, caller: .itself)
            let isItself = endings[index].caller == .itself
            if isItself, case .wakeUp = endings[index].act { return [shorter] }
            return isItself ? [shorter, plain] : [shorter, simpler, plain]
        }
    }
}
