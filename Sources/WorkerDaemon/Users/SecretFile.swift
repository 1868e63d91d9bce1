// Files with secrets that a configuration names: where they are, and who else may read and change
// them.

internal import Kernel

/// A file that others may not change, and not all may read.
enum SecretFile {
    /// The word in a configuration for the directory of the unit's credentials.
    private static let credentials = "$CREDENTIALS_DIRECTORY/"
    /// Group and others may not write, and others may not read.
    private static let forbiddenModes: UInt32 = 0o026

    /// Whether a setting names a credential of the unit, which is there for the daemon only.
    static func isCredential(_ setting: String) -> Bool { setting.hasPrefix(credentials) }

    /// The path of a file.
    ///
    /// - Parameters:
    ///   - setting: a path, or `$CREDENTIALS_DIRECTORY/NAME`.
    ///   - key: the key of the setting, for the error.
    static func path(_ setting: String, of key: String) throws(DaemonError) -> String {
        guard isCredential(setting) else { return setting }
        let name = setting.dropFirst(credentials.count)
        guard let directory = Program.inheritedEnvironment()["CREDENTIALS_DIRECTORY"] else {
            throw fault(
                "\(key): CREDENTIALS_DIRECTORY is not set: the unit needs "
                    + "LoadCredential=\(name):FILE")
        }
        return "\(directory)/\(name)"
    }

    /// Refuses a file that others could change, or all could read.
    ///
    /// A group may read it: a credential of systemd shows the rights of its one reader there.
    static func checkProtection(of path: String, _ key: String) throws(DaemonError) {
        do throws(UnreadableFile) {
            try File.checkIsRegular(path)
        } catch {
            throw fault("\(key): \(error)")
        }
        let owner: (userID: UInt32, mode: UInt32)?
        do throws(SystemError) {
            owner = try File.owner(of: path)
        } catch {
            throw fault("\(key): \(error)")
        }
        guard let owner else { throw fault("\(key): \(path) does not exist") }
        guard owner.userID == 0 || owner.userID == UserID.own else {
            throw fault(
                "\(key): \(path) belongs to user id \(owner.userID), must belong to root or to "
                    + "the user that workerd runs as: chown root \(path)")
        }
        guard owner.mode & forbiddenModes == 0 else {
            let mode = String(owner.mode, radix: 8)
            throw fault(
                "\(key): \(path) has mode 0\(mode): its group and others may not write it, and "
                    + "others may not read it: chmod 640 \(path)")
        }
    }

    /// Whether a file can't be read by this process; the daemon may run as another user.
    ///
    /// - Returns: false also for a file that no daemon reads, as it is not a regular one.
    static func isHidden(_ path: String, atMost byteCountMax: Int) -> Bool {
        do throws(UnreadableFile) {
            _ = try File.readRegular(path, atMost: byteCountMax)
            return false
        } catch {
            if case .system = error { return true }
            return false
        }
    }

    /// A fault of the configuration.
    static func fault(_ text: String) -> DaemonError {
        DaemonError(text, exitStatus: DaemonError.badConfiguration)
    }
}

extension ValueRule<String> {
    /// The absolute path of a file, or its name among the credentials of a unit.
    static func fileOrCredential(such example: String) -> ValueRule {
        ValueRule { value, place in
            let rule = text(such: example, byteCountMax: 4_000)
            guard let path = rule.read(value, place) else { return nil }
            let isCredential =
                path.wholeMatch(of: /\$CREDENTIALS_DIRECTORY\/[A-Za-z0-9_.-]+/) != nil
            if path.hasPrefix("/") || isCredential { return path }
            place.report(
                "must be an absolute path such as \"\(example)\", or "
                    + "\"$CREDENTIALS_DIRECTORY/NAME\", is \(path.quoted)")
            return nil
        }
    }
}
