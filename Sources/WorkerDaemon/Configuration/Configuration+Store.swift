// Where jobs are kept, as configured.

extension Configuration {
    /// Where jobs are kept.
    package enum Store: Sendable, Equatable {
        /// Where the service manager says, and in memory without one.
        case automatic
        /// In memory: they are gone when the daemon ends.
        case memory
        /// In the file at this absolute path.
        case file(String)

        /// The path of the file; nil for memory.
        ///
        /// - Parameter environment: `STATE_DIRECTORY` there is what systemd has made for the
        ///   service, of several the first.
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
    /// "memory", or the path of a file in a directory that is there.
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
