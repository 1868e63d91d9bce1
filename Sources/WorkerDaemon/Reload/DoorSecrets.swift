// The secrets of the doors, as the first lines of their files have them.

internal import Kernel

/// The secrets that clients have to give.
struct DoorSecrets {
    /// The password of doors for commands.
    let password: [UInt8]?
    /// The key of requests of HTTP.
    let key: [UInt8]?

    /// Reads the files that a configuration names.
    ///
    /// - Blocks: for the disk.
    init(_ listen: Configuration.Listen, _ log: Log) throws(DaemonError) {
        password = try listen.passwordFile.map { path throws(DaemonError) in
            try Self.read("listen.passwordFile", "password", path, log)
        }
        key = try listen.http.keyFile.map { path throws(DaemonError) in
            try Self.readKey(path, log)
        }
    }

    /// Reads the first line of a file with a secret.
    private static func read(
        _ setting: String, _ what: String, _ path: String, _ log: Log
    ) throws(DaemonError) -> [UInt8] {
        do throws(UnreadableFile) {
            let bytes = try File.readRegular(
                path, atMost: Configuration.Listen.passwordFileByteCountMax)
            if let mode = try? File.mode(of: path), mode & 0o077 != 0 {
                log.warning("\(path) can be read by other users: chmod 600 \(path)")
            }
            let line = File.firstLine(of: bytes)
            if !line.isEmpty { return line }
        } catch {
            throw DaemonError("\(setting): \(error)", exitStatus: DaemonError.badConfiguration)
        }
        throw DaemonError(
            "\(setting): \(path) has no \(what) in its first line",
            exitStatus: DaemonError.badConfiguration)
    }

    /// Reads the key of requests, which has to fit into a field of HTTP.
    private static func readKey(_ path: String, _ log: Log) throws(DaemonError) -> [UInt8] {
        let setting = "listen.http.keyFile"
        let key = try read(setting, "key", path, log)
        let countMin = Configuration.Listen.HTTP.keyByteCountMin
        guard key.count >= countMin, key.allSatisfy({ (33...126).contains($0) }) else {
            throw DaemonError(
                "\(setting): the first line of \(path) must have at least \(countMin) "
                    + "characters of ASCII without blanks; to make one: "
                    + "openssl rand -hex 32 >\(path)",
                exitStatus: DaemonError.badConfiguration)
        }
        return key
    }
}
