// Finding the program that a name means, before anything is started, and checking that it can be.

internal import CLinux
internal import Glibc

/// A program that cannot be started, known before it is tried.
package enum ProgramError: Error, Equatable, Sendable, CustomStringConvertible {
    /// There is no such file; for a bare name, in none of the directories.
    case notFound(name: String, searched: [String])
    /// There is one, but this process may not execute it, or it is no regular file.
    case notExecutable(path: String)
    /// A path that starts nowhere: it would mean another file in each working directory.
    case relative(path: String)
    /// The kernel could not tell.
    case system(SystemError)

    /// One sentence for people.
    package var description: String {
        switch self {
        case .notFound(let name, let searched) where searched.isEmpty:
            return "\(name): no such program"
        case .notFound(let name, let searched):
            return "\(name): no such program in \(searched.joined(separator: ":"))"
        case .notExecutable(let path):
            return "\(path): is no program that this user may execute (chmod +x?)"
        case .relative(let path):
            return "\(path): a program is a bare name or an absolute path"
        case .system(let error):
            return error.description
        }
    }
}

/// Programs by their names, and the environment they get.
package enum Program {
    /// Finds the program that a name or an absolute path means.
    ///
    /// Parts of the search path that are empty or relative are passed over: they would mean
    /// another program in each working directory.
    ///
    /// - Parameters:
    ///   - name: `convert` or `/usr/bin/convert`.
    ///   - searchPath: directories with colons between them, such as the variable PATH.
    /// - Returns: an absolute path.
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func find(
        _ name: String, in searchPath: String
    ) throws(ProgramError) -> String {
        if name.utf8.contains(UInt8(ascii: "/")) {
            guard name.hasPrefix("/") else { throw .relative(path: name) }
            guard let isExecutable = try isExecutable(name) else {
                throw .notFound(name: name, searched: [])
            }
            guard isExecutable else { throw .notExecutable(path: name) }
            return name
        }
        let directories = searchPath.split(separator: ":").filter { $0.hasPrefix("/") }
        if name.isEmpty { throw .notFound(name: name, searched: directories.map(String.init)) }
        var refused: String?
        for directory in directories {
            let path = Directory.path(of: name, in: String(directory))
            // A directory that cannot be entered hides nothing that could be started.
            guard let isExecutable = try? isExecutable(path) else { continue }
            if isExecutable { return path }
            refused = refused ?? path
        }
        if let refused { throw .notExecutable(path: refused) }
        throw .notFound(name: name, searched: directories.map(String.init))
    }

    /// Why the arguments of this program are unknown; nil if that is known.
    ///
    /// Swift reads it in `/proc`, and without finds nothing, not even the program's name.
    ///
    /// - Thread: any.
    /// - Blocks: never.
    package static var argumentsFault: String? {
        CommandLine.arguments.isEmpty ? "the arguments can't be read: /proc is not mounted" : nil
    }

    /// The environment of this process; of a name that occurs twice the first counts.
    ///
    /// - Thread: any, as long as no thread calls setenv.
    /// - Blocks: never.
    package static func inheritedEnvironment() -> [String: String] {
        var environment: [String: String] = [:]
        guard var entry = unsafe clinux_environment() else { return environment }
        while let text = unsafe entry.pointee {
            let pair = unsafe String(cString: text)
            if let sign = pair.firstIndex(of: "="), sign != pair.startIndex {
                let name = String(pair[..<sign])
                if environment[name] == nil {
                    environment[name] = String(pair[pair.index(after: sign)...])
                }
            }
            unsafe entry += 1
        }
        return environment
    }

    /// Whether a path is a program; nil when there is nothing.
    private static func isExecutable(_ path: String) throws(ProgramError) -> Bool? {
        do throws(SystemError) {
            guard let kind = try File.kind(of: path) else { return nil }
            return kind == .regular(isExecutable: true)
        } catch {
            throw .system(error)
        }
    }
}
