// The store of the daemons whose test does not care for it: Scripts/stores runs the black-box tests
// with each.

import Glibc
import PostgreSQLServer
import Support
import Synchronization

/// Where the jobs of a daemon are kept.
enum TestStore: String {
    case memory
    /// In a file of the test's directory.
    case file
    /// In a file on a disk whose syncs take 20 ms: answers come late.
    case slow
    /// In a database of the test's own, on the server that the tests share.
    case postgresql

    /// The one that `DAEMON_STORE` names.
    static let chosen: TestStore = {
        guard let name = unsafe getenv("DAEMON_STORE") else { return .memory }
        let text = unsafe String(cString: name)
        guard let store = TestStore(rawValue: text) else {
            fatalError("DAEMON_STORE is memory, file, slow or postgresql, not \(text)")
        }
        return store
    }()

    /// The value of `store` in the configuration; `$DIR` stands for the directory of the test, and
    /// `$DATABASE` for the address of its database.
    var setting: String {
        switch self {
        case .memory: "\"memory\""
        case .file, .slow: "\"$DIR/jobs.sqlite\""
        case .postgresql: "\"$DATABASE\",\n    stateDirectory: \"$DIR\""
        }
    }

    /// The databases of tests, by their directories: a daemon that is started again has its own.
    private static let databases = Mutex<[String: String]>([:])

    /// The address of a test's database, which is made when it is first needed.
    static func database(of directory: String) -> String {
        databases.withLock { databases in
            if let address = databases[directory] { return address }
            do {
                let address = try PostgreSQLServer.shared.get().makeDatabase()
                databases[directory] = address
                return address
            } catch {
                fatalError("no database: \(error)")
            }
        }
    }

    /// The variables that the daemon needs in its environment.
    func environment(in scratch: Scratch) throws -> [String: String] {
        guard self == .slow else { return [:] }
        return [
            "LD_PRELOAD": try diskShim.get(), "DISK_FAULTS_FILES": scratch.file("jobs.sqlite"),
            "DISK_FAULTS_SYNC_MS": "20",
        ]
    }
}
