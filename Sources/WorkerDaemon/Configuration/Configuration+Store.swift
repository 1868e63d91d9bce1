// The configured place of the jobs.

extension Configuration {
    /// Where jobs are kept.
    package enum Store: Sendable, Equatable {
        /// In the directory of the service manager; in memory if there is none.
        case automatic
        /// In memory: jobs are lost when the daemon ends.
        case memory
        /// In the file at this absolute path.
        case file(String)
        /// In the database of this address.
        case database(String)
    }

    /// Where jobs are kept, once the environment of the daemon is known.
    package enum StorePlace: Sendable, Equatable {
        case memory
        case file(String)
        /// A database, and the file of this machine in which attempts are noted.
        case database(String, attempts: String)
    }

    /// Where jobs are kept; nil if it is a database and there is no directory for attempts.
    ///
    /// - Parameter environment: its `STATE_DIRECTORY` names the directories that systemd has made
    ///   for the service; the first is used.
    /// - Source: systemd.exec(5), StateDirectory=.
    package func storePlace(in environment: [String: String]) -> StorePlace? {
        let provided = environment["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init)
        switch store {
        case .memory: return .memory
        case .file(let path): return .file(path)
        case .automatic: return provided.map { .file("\($0)/jobs.sqlite") } ?? .memory
        case .database(let address):
            guard let directory = stateDirectory ?? provided else { return nil }
            return .database(address, attempts: "\(directory)/attempts")
        }
    }
}

extension ValueRule<Configuration.Store> {
    /// "memory", the path of a file in a directory that exists, or the address of a database.
    static var store: ValueRule {
        let example = "/var/lib/workerd/jobs.sqlite"
        return .string(such: example) { text, place in
            if text == "memory" { return .memory }
            if OpenedStore.isMeantAsDatabase(text) {
                if OpenedStore.canBeDatabase(text) { return .database(text) }
                place.report(
                    "must name a database such as \"postgresql:///jobs?host=/run/postgresql\", "
                        + "and does not")
                return nil
            }
            guard text.hasPrefix("/"), !text.utf8.contains(0), text.utf8.count <= 4_000 else {
                place.report(
                    "must be \"memory\", an absolute path such as \"\(example)\" or the address "
                        + "of a database such as \"postgresql:///jobs\", is \(text.quoted)")
                return nil
            }
            return place.isForNew("file", text) ? .file(text) : nil
        }
    }
}
