// Where servers keep their jobs while they are measured: on a disk, or nothing is worth anything.

internal import CMeasure
internal import Kernel

enum StoreDirectory {
    /// Makes a directory that every user may enter, and that is on a disk.
    static func create() throws -> String {
        // Not /tmp, which may be in memory.
        let parent = Program.inheritedEnvironment()["TMPDIR"] ?? "/var/tmp"
        guard unsafe measure_is_in_memory(parent) == 0 else {
            throw WorkbenchError(
                "\(parent) is in memory, where a sync is nothing: set TMPDIR to one on a disk")
        }
        let directory = try Directory.createTemporary(prefix: "\(parent)/workbench-")
        Interrupts.note(directory: directory)
        try File.setMode(0o711, of: directory)
        return directory
    }
}
