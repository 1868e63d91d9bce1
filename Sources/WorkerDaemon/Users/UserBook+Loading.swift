// From the configuration to the users: reads the users file and checks who else may read and change
// it, and finds the user ids of `listen.peers`.

internal import Kernel
internal import Wording

extension UserBook {
    /// The word in a configuration for systemd's directory of the unit's credentials.
    private static let credentials = "$CREDENTIALS_DIRECTORY/"
    /// Group and others may not write, and others may not read.
    private static let forbiddenModes: UInt32 = 0o026

    /// Reads the users of a configuration, and the password and the key of its doors.
    ///
    /// - Throws: the fault of a file, or every fault of the users file, each by its place.
    /// - Thread: any thread.
    /// - Blocks: for the disk, or a directory service.
    static func load(
        _ configuration: Configuration, _ log: Log
    ) throws(DaemonError) -> UserBook {
        let secrets = try DoorSecrets(configuration.listen, log)
        return try load(configuration, password: secrets.password, key: secrets.key)
    }

    /// Reads the users of a configuration.
    ///
    /// - Throws: every fault of the file, each by its place.
    /// - Thread: any thread.
    /// - Blocks: for the disk, or a directory service.
    private static func load(
        _ configuration: Configuration, password: [UInt8]?, key: [UInt8]?
    ) throws(DaemonError) -> UserBook {
        guard let setting = configuration.users else {
            return UserBook(password: password, key: key)
        }
        let path = try resolve(setting)
        try checkProtection(of: path)
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try File.read(path, atMost: JSON5Reader.byteCountMax)
        } catch {
            throw fault("users: \(error)")
        }
        let users: [User]
        do throws(ConfigurationError) {
            users = try UsersFile(bytes: bytes, fileName: path).users
        } catch {
            throw fault(error.description)
        }
        let peers = try peers(configuration.listen.peers, users)
        return UserBook(users: users, peers: peers, password: password, key: key)
    }

    /// Checks the users of a configuration without starting with them.
    ///
    /// - Returns: a warning if the file can't be read here: the daemon may run as another user.
    /// - Throws: every fault of the file, each by its place.
    static func check(_ configuration: Configuration) throws(DaemonError) -> String? {
        if let setting = configuration.users {
            if setting.hasPrefix(credentials) { return "users: \(setting) is not looked at here" }
            if (try? File.read(setting, atMost: JSON5Reader.byteCountMax)) == nil {
                return "users: \(setting) can't be read here"
            }
        }
        _ = try load(configuration, password: nil, key: nil)
        return nil
    }

    private static func fault(_ text: String) -> DaemonError {
        DaemonError(text, exitStatus: DaemonError.badConfiguration)
    }

    /// The path of the users file.
    private static func resolve(_ setting: String) throws(DaemonError) -> String {
        guard setting.hasPrefix(credentials) else { return setting }
        let name = setting.dropFirst(credentials.count)
        guard let directory = Program.inheritedEnvironment()["CREDENTIALS_DIRECTORY"] else {
            throw fault(
                "users: CREDENTIALS_DIRECTORY is not set: the unit needs "
                    + "LoadCredential=\(name):FILE")
        }
        return "\(directory)/\(name)"
    }

    /// Refuses a file that others could change: they would make themselves users.
    ///
    /// A group may read it: a credential of systemd shows the rights of its one reader there.
    private static func checkProtection(of path: String) throws(DaemonError) {
        let owner: (userID: UInt32, mode: UInt32)?
        do throws(SystemError) {
            owner = try File.owner(of: path)
        } catch {
            throw fault("users: \(error)")
        }
        guard let owner else { throw fault("users: \(path) does not exist") }
        guard owner.userID == 0 || owner.userID == UserID.own else {
            throw fault(
                "users: \(path) belongs to user id \(owner.userID), must belong to root or to the "
                    + "user that workerd runs as: chown root \(path)")
        }
        guard owner.mode & forbiddenModes == 0 else {
            let mode = String(owner.mode, radix: 8)
            throw fault(
                "users: \(path) has mode 0\(mode): its group and others may not write it, and "
                    + "others may not read it: chmod 640 \(path)")
        }
    }

    /// The users of processes by their user ids.
    private static func peers(
        _ peers: [String: String], _ users: [User]
    ) throws(DaemonError) -> [UInt32: User] {
        var found: [UInt32: User] = [:]
        for (systemUser, name) in peers.sorted(by: { $0.key < $1.key }) {
            guard let id = UInt32(systemUser) ?? UserID.named(systemUser) else {
                throw fault("listen.peers: this machine has no user \(quoted(systemUser))")
            }
            guard let user = users.first(where: { $0.name == name }) else {
                throw fault("listen.peers.\(systemUser): the users file has no \(quoted(name))")
            }
            guard found.updateValue(user, forKey: id) == nil else {
                throw fault("listen.peers: user id \(id) is there twice")
            }
        }
        return found
    }
}
