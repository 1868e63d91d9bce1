// A store of several daemons that says only when it is told which schedules it has.

import Jobs
import Synchronization

/// A store that keeps nothing, shares its threads, and answers questions about schedules late.
final class LateSchedules: JobStore {
    private typealias Answer = @Sendable (Result<[String: StoredSchedule], StoreFault>) -> Void

    private let store = NoStore()
    private let questions = Mutex<[Answer]>([])

    var name: String { store.name }
    var kind: StoreKind { store.kind }
    var sharedSeat: Int64? { 7 }

    /// How many questions are not answered.
    var questionCount: Int { questions.withLock { $0.count } }

    /// Says of all schedules asked for that there are none.
    func answer() {
        let asked = questions.withLock { questions in
            defer { questions = [] }
            return questions
        }
        for answer in asked { answer(.success([:])) }
    }

    func askForSchedules(
        named names: [String],
        _ answer: @escaping @Sendable (Result<[String: StoredSchedule], StoreFault>) -> Void
    ) {
        questions.withLock { $0.append(answer) }
    }

    func add(_ command: consuming StoreCommand) { store.add(command) }
    func fire() { store.fire() }
    func record(_ command: consuming StoreCommand) { store.record(command) }
    func noteStart(_ id: UInt64, _ attempt: Attempt) { store.noteStart(id, attempt) }
    func noteDone(_ id: UInt64, attempt: Int, result: [UInt8]) -> Bool { true }
    func noteHolder(_ id: UInt64, attempt: Int, _ holder: JobHolder?) {}
    func close(nextNumber: UInt64) { store.close(nextNumber: nextNumber) }

    func backup(
        _ name: String, in directory: String?, replaces: Bool
    ) throws(BackupError) -> any StoreBackup {
        try store.backup(name, in: directory, replaces: replaces)
    }
}
