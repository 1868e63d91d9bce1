// A daemon whose disk fails when a test says so: the shim of Tests/Preload is between it and the
// kernel.

import Glibc
import Kernel
import RESP
import Support

/// The calls that fail, and how.
struct DiskFault: CustomStringConvertible {
    /// EIO, ENOSPC or SHORT.
    let error: String
    /// `write,sync`, or `any`.
    let calls: String
    /// The number of the first failing call, among all on the daemon's files.
    let number: Int
    /// The number of failing calls; 0 for all until the disk works again.
    let count: Int

    var description: String { "\(error) \(calls) \(number) \(count)" }
}

/// A disk that fails.
let diskShim = compiledShim("disk-faults")

/// A shim of Tests/Preload, compiled in one step, as a daemon of another run may load it.
func compiledShim(_ name: String) -> Result<String, Unexpected> {
    do {
        let library = "\(try productsDirectory())/\(name).so"
        let source = "\(repositoryDirectory)/Tests/Preload/\(name).c"
        let command =
            "$(command -v clang || command -v cc) -std=gnu11 -O1 -shared -fPIC '\(source)'"
            + " -o '\(library)'$$ && mv '\(library)'$$ '\(library)'"
        var child = try ChildProcess.spawn(
            ChildCommand(program: "/bin/sh", arguments: ["-c", command]))
        _ = isReady(child.endDescriptor.number, for: POLLIN, within: patienceMilliseconds)
        let status = child.reap()
        guard status == .exited(0) else {
            return .failure(Unexpected("no shim: \(status as Any)"))
        }
        return .success(library)
    } catch {
        return .failure(Unexpected("no shim: \(error)"))
    }
}

extension TestDaemon {
    /// Starts a daemon with a ledger over a disk that fails.
    convenience init(in scratch: Scratch, failing fault: DiskFault) throws {
        try scratch.write(Setup.durable.text(directory: scratch.path), to: "workerd.json5")
        try scratch.write("\(fault)", to: "control")
        try self.init(
            arguments: ["--config", scratch.file("workerd.json5")], in: scratch,
            program: "ProgramLedger",
            environment: [
                "LEDGER": scratch.file("ledger"), "LD_PRELOAD": try diskShim.get(),
                "DISK_FAULTS_FILES": scratch.file("jobs.sqlite"),
                "DISK_FAULTS_CONTROL": scratch.file("control"),
                "DISK_FAULTS_LOG": scratch.file("calls"),
            ])
    }

    /// Starts a daemon with a ledger over a disk whose power can be cut.
    convenience init(in scratch: Scratch, logName: String, syncingTo directory: String) throws {
        try scratch.write(Setup.durable.text(directory: scratch.path), to: "workerd.json5")
        try Directory.create(directory)
        try self.init(
            arguments: ["--config", scratch.file("workerd.json5")], in: scratch, logName: logName,
            program: "ProgramLedger",
            environment: [
                "LEDGER": scratch.file("ledger"), "LD_PRELOAD": try diskShim.get(),
                "DISK_FAULTS_FILES": scratch.file("jobs.sqlite"),
                "DISK_FAULTS_SYNCED": directory,
            ])
        try waitUntilListening()
    }

    /// Starts a daemon over the same files and a disk that does not fail.
    convenience init(afterFaultsIn scratch: Scratch) throws {
        try self.init(
            arguments: ["--config", scratch.file("workerd.json5")], in: scratch, logName: "log2",
            program: "ProgramLedger", environment: ["LEDGER": scratch.file("ledger")])
        try waitUntilListening()
    }

    /// Waits until it listens or has ended.
    ///
    /// - Returns: whether it listens.
    func listensAtLast() throws -> Bool {
        try eventually("the daemon listens or ends") {
            !isRunning || log.contains("listening on \(socket)\n")
        }
        return isRunning
    }
}
