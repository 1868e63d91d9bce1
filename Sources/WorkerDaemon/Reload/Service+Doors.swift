// The doors of the configuration: opened at the start, and at a reload, where those that stay are
// not touched.

internal import Kernel
internal import RunLoops

/// A door as the configuration has it.
struct DoorSetting: Equatable {
    /// Where it is: what no two doors have in common.
    enum Place: Equatable {
        case unix(String)
        case tcp(Configuration.Address)
    }

    let place: Place
    var dialect: Dialect
    /// The permissions of a Unix socket.
    let mode: UInt32

    /// Whether it is the same socket, whatever its permissions and protocol.
    func isSame(as other: DoorSetting) -> Bool { place == other.place }

    /// Whether its clients have to authenticate first.
    var asksForPassword: Bool { if case .tcp = place { true } else { false } }

    /// Listens there.
    ///
    /// - Parameter awaits: whether another server may be about to leave the address.
    /// - Blocks: for the disk; for a second at most if it awaits.
    func listen(awaits: Bool) throws -> Listener {
        let address: SocketAddress =
            switch place {
            case .unix(let path): .unix(try UnixAddress(path))
            case .tcp(let address): .tcp(try TCPAddress("\(address)"))
            }
        return awaits
            ? try .awaited(at: address, mode: mode) : try Listener(at: address, mode: mode)
    }
}

extension Configuration.Listen {
    /// Its doors.
    var doors: [DoorSetting] { ConfiguredDoor.allCases.compactMap { $0.setting(in: self) } }
}

extension Door {
    /// Opens the doors of a configuration that are not open; all of them, or none.
    ///
    /// - Parameters:
    ///   - present: doors that are open.
    ///   - inherited: the sockets that the daemon was started with; nil if they are in use.
    ///   - admit: gets each connection.
    /// - Returns: the new doors, and whether some are of `inherited`; nil without `inherited`.
    /// - Throws: why one can't be opened.
    /// - Blocks: for the disk.
    static func openAll(
        of listen: Configuration.Listen, beside present: [(setting: DoorSetting, door: Door)],
        _ inherited: InheritedSockets?, loop: ThreadRunLoop, log: Log,
        admit: @escaping (consuming Descriptor, Door) -> Void
    ) throws -> (doors: [(setting: DoorSetting, door: Door)], areInherited: Bool?) {
        var opened: [(setting: DoorSetting, door: Door)] = []
        func open(_ listener: consuming Listener, _ setting: DoorSetting) throws(SystemError) {
            let door = Door(
                listener, asksForPassword: setting.asksForPassword, dialect: setting.dialect,
                loop: loop, log: log, admit: admit)
            try door.open()
            opened.append((setting, door))
        }
        do {
            let named = try inherited?.open(listen, log) { listener, configured in
                guard let setting = configured.setting(in: listen) else { return }
                try open(listener, setting)
            }
            for setting in listen.doors
            where !(present + opened).contains(where: { $0.setting.isSame(as: setting) }) {
                // An earlier daemon may be about to end only at a start.
                try open(try setting.listen(awaits: inherited != nil), setting)
            }
            return (opened, named.map { !$0.isEmpty })
        } catch {
            for (_, door) in opened { door.close() }
            throw error
        }
    }
}

extension Service {
    /// Opens the doors of a configuration that are not open; all of them, or none.
    ///
    /// Doors that are open get their certificates, for connections that come in from then on.
    ///
    /// - Parameters:
    ///   - certificates: of the doors with TLS.
    ///   - inherited: the sockets that the daemon was started with; nil at a reload.
    /// - Returns: the doors that were opened.
    /// - Throws: why one can't be opened.
    /// - Blocks: for the disk.
    @discardableResult
    func openDoors(
        _ listen: Configuration.Listen, _ certificates: DoorCertificates,
        _ inherited: InheritedSockets? = nil
    ) throws -> [Door] {
        let certificates = self.certificates.renewed(by: certificates)
        let (opened, areInherited) = try Door.openAll(
            of: listen, beside: doors, inherited, loop: loop, log: log
        ) { [unowned self] socket, door in admit(socket, through: door) }
        if let areInherited { doorsOutliveIt = areInherited }
        doors += opened
        changeDialects(as: listen)
        self.certificates = certificates
        for (setting, door) in doors { door.tls = certificates.context(of: setting) }
        return opened.map(\.door)
    }

    /// Lets doors that stay speak the protocol that a configuration has for their addresses.
    private func changeDialects(as listen: Configuration.Listen) {
        let wanted = listen.doors
        for (index, (setting, door)) in doors.enumerated() {
            guard let now = wanted.first(where: { $0.isSame(as: setting) }),
                now.dialect != setting.dialect
            else { continue }
            doors[index].setting.dialect = now.dialect
            door.dialect = now.dialect
            let name = now.dialect == .requests ? "HTTP" : "the Redis protocol"
            log.notice("\(door.address) speaks \(name) from now on; its connections go on")
        }
    }

    /// Closes doors that were opened for a change that is not made.
    func close(_ doors: [Door]) {
        for door in doors {
            door.close()
            self.doors.removeAll { $0.door === door }
        }
    }

    /// Closes the doors that a configuration does not have; the connections through them go on.
    func closeOtherDoors(than listen: Configuration.Listen) {
        let wanted = listen.doors
        for (setting, door) in doors where !wanted.contains(where: { $0.isSame(as: setting) }) {
            log.notice("\(door.address) is closed; its connections go on")
            close([door])
        }
        for index in doors.indices {
            guard let now = wanted.first(where: { $0.isSame(as: doors[index].setting) }),
                now.mode != doors[index].setting.mode, case .unix(let path) = now.place
            else { continue }
            doors[index].setting = now
            do throws(SystemError) {
                try File.setMode(now.mode, of: path)
            } catch {
                log.error("\(path) keeps its mode: \(error)")
            }
        }
    }
}
