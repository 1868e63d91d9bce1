// The store of the daemons whose test does not care for it: Scripts/stores runs the black-box tests
// with each.

import Glibc
import Support

/// Where the jobs of a daemon are kept.
enum TestStore: String {
    case memory
    /// In a file of the test's directory.
    case file
    /// In a file on a disk whose syncs take 20 ms: answers come late.
    case slow

    /// The one that `DAEMON_STORE` names.
    static let chosen: TestStore = {
        guard let name = unsafe getenv("DAEMON_STORE") else { return .memory }
        let text = unsafe String(cString: name)
        guard let store = TestStore(rawValue: text) else {
            fatalError("DAEMON_STORE is memory, file or slow, not \(text)")
        }
        return store
    }()

    /// The value of `store` in the configuration; `$DIR` stands for the directory of the test.
    var setting: String { self == .memory ? "\"memory\"" : "\"$DIR/jobs.sqlite\"" }

    /// What the daemon needs in its environment.
    func environment(in scratch: Scratch) throws -> [String: String] {
        guard self == .slow else { return [:] }
        return [
            "LD_PRELOAD": try diskShim.get(), "DISK_FAULTS_FILES": scratch.file("jobs.sqlite"),
            "DISK_FAULTS_SYNC_MS": "20",
        ]
    }
}
