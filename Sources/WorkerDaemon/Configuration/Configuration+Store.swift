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

        /// The path of the file; nil for memory.
        ///
        /// - Parameter environment: its `STATE_DIRECTORY` names the directories that systemd has
        ///   made for the service; the first is used.
        /// - Source: systemd.exec(5), StateDirectory=.
        package func path(in environment: [String: String]) -> String? {
            switch self {
            case .memory: nil
            case .file(let path): path
            case .automatic:
                environment["STATE_DIRECTORY"]?.split(separator: ":").first.map {
                    "\($0)/jobs.sqlite"
                }
            }
        }
    }
}

extension ValueRule<Configuration.Store> {
    /// "memory", or the path of a file in a directory that exists.
    static var store: ValueRule {
        let example = "/var/lib/workerd/jobs.sqlite"
        return .string(such: example) { text, place in
            if text == "memory" { return .memory }
            guard text.hasPrefix("/"), !text.utf8.contains(0), text.utf8.count <= 4_000 else {
                place.report(
                    "must be \"memory\" or an absolute path such as \"\(example)\", is "
                        + text.quoted)
                return nil
            }
            return place.isForNew("file", text) ? .file(text) : nil
        }
    }
}
