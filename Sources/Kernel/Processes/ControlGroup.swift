// Control groups of version 2: directories of a file system of the kernel's, each a set of
// processes that can be counted, limited and killed together, and that none can leave by itself.

internal import CLinux
internal import Glibc

/// A control group, by its directory.
///
/// - Source: Documentation/admin-guide/cgroup-v2.rst of Linux.
package struct ControlGroup: Sendable, Hashable {
    /// The directory.
    package let path: String

    /// The longest text of a group's files that is read.
    private static let textByteCountMax = 1 << 20
    /// The number of searches for processes that were started meanwhile, where the kernel can't
    /// kill a whole group.
    private static let killRoundCountMax = 20

    package init(path: String) { self.path = path }

    /// The group of this process; nil without version 2, and if it can't be seen from here.
    ///
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: cgroups(7), `/proc/self/cgroup`; proc(5), `/proc/self/mountinfo`.
    package static func own() -> ControlGroup? {
        func text(_ path: String) -> String {
            let bytes = try? File.read(path, atMost: textByteCountMax)
            return String(decoding: bytes ?? [], as: UTF8.self)
        }
        return own(membership: text("/proc/self/cgroup"), mounts: text("/proc/self/mountinfo"))
    }

    /// The group that two files of `/proc/self` tell of.
    package static func own(membership: String, mounts: String) -> ControlGroup? {
        let line = membership.split(separator: "\n").first { $0.hasPrefix("0::/") }
        guard let place = line?.dropFirst("0::".count) else { return nil }
        for mount in mounts.split(separator: "\n") {
            let halves = mount.split(separator: " - ", maxSplits: 1)
            let fields = mount.split(separator: " ")
            guard halves.count == 2, halves[1].hasPrefix("cgroup2 "), fields.count > 4 else {
                continue
            }
            // A mount shows a part of the tree: in a container the root of it is not "/".
            let (root, point) = (fields[3], fields[4])
            guard root == "/" || place == root || place.hasPrefix("\(root)/") else { continue }
            let rest = root == "/" ? place : place.dropFirst(root.count)
            return ControlGroup(path: rest == "/" || rest.isEmpty ? "\(point)" : "\(point)\(rest)")
        }
        return nil
    }

    /// The group around this one.
    package var parent: ControlGroup { ControlGroup(path: Directory.parent(of: path)) }

    /// A group in this one, whether it is there or not.
    package func child(_ name: String) -> ControlGroup {
        ControlGroup(path: Directory.path(of: name, in: path))
    }

    /// The path of one of its files.
    package func file(_ name: String) -> String { Directory.path(of: name, in: path) }

    /// Whether it is a group's directory.
    package var isThere: Bool { has("cgroup.procs") }

    /// Whether it has a file of a name: files differ by the kernel's version.
    package func has(_ name: String) -> Bool {
        guard case .regular? = try? File.kind(of: file(name)) else { return false }
        return true
    }

    /// Whether systemd has left the group to its service (`Delegate=yes`).
    ///
    /// - Source: systemd.resource-control(5), the attribute `user.delegate`.
    package var isDelegated: Bool {
        ["user.delegate", "trusted.delegate"].contains { name in
            var value: UInt8 = 0
            let count = unsafe getxattr(path, name, &value, 1)
            return count == 1 && value == UInt8(ascii: "1")
        }
    }

    /// The kinds of resources that can be limited in the groups in it: `memory`, `pids`.
    package var controllers: Set<String> { words(of: "cgroup.controllers") }

    /// The kinds that are limited there.
    package var enabledControllers: Set<String> { words(of: "cgroup.subtree_control") }

    private func words(of name: String) -> Set<String> {
        Set((text(of: name) ?? "").split(whereSeparator: \.isWhitespace).map(String.init))
    }

    /// The text of one of its files; nil if it can't be read.
    package func text(of name: String) -> String? {
        guard let bytes = try? File.read(file(name), atMost: Self.textByteCountMax) else {
            return nil
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A number behind a word in one of its files: `oom_kill` of `memory.events`.
    package func number(_ word: String, in name: String) -> Int? {
        for line in (text(of: name) ?? "").split(separator: "\n") {
            let parts = line.split(separator: " ")
            if parts.count == 2, parts[0] == word { return Int(parts[1]) }
        }
        return nil
    }

    /// Writes to one of its files.
    ///
    /// - Throws: what the kernel says: ENOENT, EACCES, EBUSY, EINVAL, EOPNOTSUPP.
    package func write(_ text: String, to name: String) throws(SystemError) {
        try File.write(Array("\(text)\n".utf8), to: file(name))
    }

    /// Makes the group; one that is there already is fine.
    package func make() throws(SystemError) { try Directory.create(path) }

    /// Removes the group, in which no process and no other group may be.
    ///
    /// - Throws: EBUSY while a process that was killed has not ended.
    package func remove() throws(SystemError) { try Directory.remove(path) }

    /// The names of the groups in it.
    package var childNames: [String] {
        ((try? Directory.names(in: path)) ?? []).filter { child($0).isThere }
    }

    /// Moves this process into the group, with all its threads.
    package func enter() throws(SystemError) { try write("0", to: "cgroup.procs") }

    /// The processes in it, without those of the groups in it.
    ///
    /// The file has a 0 for each process that has no number here, as in another namespace.
    package var processIDs: [Int] {
        (text(of: "cgroup.procs") ?? "").split(separator: "\n").compactMap { Int($0) }
            .filter { $0 > 0 }
    }

    /// Kills all processes in it, and in the groups in it; they are gone soon after.
    ///
    /// - Thread: any.
    /// - Blocks: never for long.
    package func kill() {
        // Since Linux 5.14.
        if has("cgroup.kill"), (try? write("1", to: "cgroup.kill")) != nil { return }
        for name in childNames { child(name).kill() }
        for _ in 0..<Self.killRoundCountMax {
            let processIDs = processIDs
            guard !processIDs.isEmpty else { return }
            for processID in processIDs { try? Signal.kill.send(toProcess: processID) }
        }
    }
}
