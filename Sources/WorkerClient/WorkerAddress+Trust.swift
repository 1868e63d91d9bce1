// The servers that a client speaks to: any user can put a socket where all users may write.

internal import Kernel

extension WorkerAddress {
    /// The same address, trusted as well if its server runs as this user.
    ///
    /// A Unix socket is trusted if its server runs as root, as the caller or as the user `workerd`.
    public func trusting(userID: UInt32) -> WorkerAddress {
        var address = self
        address.trustedUserID = userID
        return address
    }

    /// The user of a daemon that the system starts.
    private static let serviceUser = "workerd"
    /// The mode bits with which other users may put a socket into a directory.
    private static let othersMayWrite: UInt32 = 0o022

    private func trusts(_ userID: UInt32) -> Bool {
        userID == 0 || userID == UserID.own || userID == trustedUserID
            || userID == UserID.named(Self.serviceUser)
    }

    /// Refuses the server of a stranger, before anything is sent to it.
    ///
    /// - Throws: `.notConnected`, with the user that was seen.
    /// - Blocks: for the disk.
    func checkServer(at socket: borrowing Descriptor) throws(WorkerClientError) {
        guard case .unix(let path) = door else { return }
        if isUsual { try checkDirectory(of: path) }
        let userID: UInt32
        do throws(SystemError) {
            userID = try socket.peerUserID()
        } catch {
            throw distrusted("the user of its server is not known: \(error.reason)", nil)
        }
        guard trusts(userID) else {
            throw distrusted("its server runs as uid \(userID), which is not trusted", userID)
        }
    }

    private func checkDirectory(of path: String) throws(WorkerClientError) {
        guard let slash = path.lastIndex(of: "/") else { return }
        let directory = slash == path.startIndex ? "/" : String(path[..<slash])
        // A directory that can't be looked at is no proof.
        guard let owner = (try? File.owner(of: directory)) ?? nil else {
            throw distrusted("the owner of \(directory) is not known", nil)
        }
        guard trusts(owner.userID) else {
            throw distrusted("\(directory) belongs to uid \(owner.userID)", owner.userID)
        }
        guard owner.mode & Self.othersMayWrite == 0 else {
            throw distrusted("others may write to \(directory), and so put a socket there", nil)
        }
    }

    private func distrusted(_ reason: String, _ userID: UInt32?) -> WorkerClientError {
        let advice =
            userID.map { "if that user is to run workerd, trust it: --trust-user \($0)" }
            ?? "if it is the right one, say so with --socket"
        return .notConnected(address: description, reason: reason, advice: advice)
    }
}
