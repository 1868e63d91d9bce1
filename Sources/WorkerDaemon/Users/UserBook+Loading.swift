// From the configuration to the users: reads the users file, and finds the user ids of
// `listen.peers`.

internal import Kernel
internal import Wording

extension UserBook {
    /// Reads the users of a configuration, and the password and the key of its doors.
    ///
    /// - Parameter file: the name of the configuration's file; nil if a program made it.
    /// - Throws: the fault of a file, or every fault of the users file or of `listen.peers`, each
    ///   by its place.
    /// - Thread: any thread.
    /// - Blocks: for the disk, or a directory service.
    static func load(
        _ configuration: Configuration, of file: String?, _ log: Log
    ) throws(DaemonError) -> UserBook {
        let secrets = try DoorSecrets(configuration.listen, log)
        return try load(configuration, of: file, password: secrets.password, key: secrets.key)
    }

    /// Reads the users of a configuration.
    ///
    /// - Throws: every fault of the file, each by its place.
    /// - Thread: any thread.
    /// - Blocks: for the disk, or a directory service.
    private static func load(
        _ configuration: Configuration, of file: String?, password: [UInt8]?, key: [UInt8]?
    ) throws(DaemonError) -> UserBook {
        guard let setting = configuration.users else {
            return UserBook(password: password, key: key)
        }
        let path = try SecretFile.path(setting, of: "users")
        // Others who could change it would make themselves users.
        try SecretFile.checkProtection(of: path, "users")
        let bytes: [UInt8]
        do throws(UnreadableFile) {
            bytes = try File.readRegular(path, atMost: JSON5Reader.byteCountMax)
        } catch {
            throw SecretFile.fault("users: \(error)")
        }
        let users: [User]
        do throws(ConfigurationError) {
            users = try UsersFile(bytes: bytes, fileName: path).users
        } catch {
            throw SecretFile.fault(error.description)
        }
        do throws(ConfigurationError) {
            let peers = try peers(configuration.listen.peers, users, of: file)
            return UserBook(users: users, peers: peers, password: password, key: key)
        } catch {
            throw SecretFile.fault(error.description)
        }
    }

    /// Checks the users of a configuration file without starting with them.
    ///
    /// - Returns: a warning if the file can't be read here: the daemon may run as another user.
    /// - Throws: every fault of the file, each by its place.
    static func check(
        _ configuration: Configuration, of file: String
    ) throws(DaemonError) -> String? {
        if let setting = configuration.users {
            if SecretFile.isCredential(setting) { return "users: \(setting) is not looked at here" }
            if SecretFile.isHidden(setting, atMost: JSON5Reader.byteCountMax) {
                return "users: \(setting) can't be read here"
            }
        }
        _ = try load(configuration, of: file, password: nil, key: nil)
        return nil
    }

    /// The users of processes by their user ids.
    private static func peers(
        _ peers: [String: Configuration.Peer], _ users: [User], of file: String?
    ) throws(ConfigurationError) -> [UInt32: User] {
        var found: [UInt32: User] = [:]
        var faults: [ConfigurationFault] = []
        for (systemUser, peer) in peers.sorted(by: { $0.value.position < $1.value.position }) {
            func report(_ message: String) {
                faults.append(.init(path: peer.path, message: message, position: peer.position))
            }
            let user = users.first { $0.name == peer.name }
            if user == nil { report("the users file has no \(quoted(peer.name))") }
            guard let id = UInt32(systemUser) ?? UserID.named(systemUser) else {
                report("this machine has no user \(quoted(systemUser))")
                continue
            }
            guard let user else { continue }
            if found.updateValue(user, forKey: id) != nil {
                report("user id \(id) is there twice")
            }
        }
        guard faults.isEmpty else {
            throw ConfigurationError(fileName: file ?? "configuration", faults: faults)
        }
        return found
    }
}
