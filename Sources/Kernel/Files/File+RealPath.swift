// One spelling for a file that has many: through symbolic links, or with `.` and `..` in its path.

internal import Glibc

extension File {
    /// The real path of a file, which need not be there yet; its directory has to be.
    ///
    /// - Returns: the path as it is given where not even the directory can be resolved.
    /// - Thread: any.
    /// - Blocks: for the disk.
    /// - Source: realpath(3).
    package static func realPath(of path: String) -> String {
        if let resolved = resolve(path) { return resolved }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard let name = parts.last, parts.count > 1 else { return path }
        let directory = parts.dropLast().joined(separator: "/")
        guard let resolved = resolve(directory.isEmpty ? "/" : directory) else { return path }
        return resolved.hasSuffix("/") ? resolved + name : "\(resolved)/\(name)"
    }

    private static func resolve(_ path: String) -> String? {
        // Allocated by the call, as a path may be longer than PATH_MAX.
        guard let resolved = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }
}
