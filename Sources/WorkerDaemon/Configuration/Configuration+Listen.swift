// The configured doors of the daemon: a Unix socket, TCP with a password.

internal import Kernel

extension Configuration {
    /// Where clients connect; at least one door.
    package struct Listen: Sendable, Equatable {
        /// The longest path: sockaddr_un.sun_path has 108 bytes, the last one is the zero
        /// (unix(7)).
        package static let unixPathByteCountMax = 107
        /// The largest file with a password, in bytes.
        static let passwordFileByteCountMax = 4_096

        /// The absolute path of the Unix socket.
        package var unix: String?
        /// The permissions of the Unix socket.
        package var unixMode: UInt32 = 0o600
        /// The users whose rights the processes of other system users have at Unix sockets: by
        /// names or ids of system users.
        package var peers: [String: Peer] = [:]
        /// The address of the TCP door; only with `passwordFile` or users.
        package var tcp: Address?
        /// TLS of the TCP door; nil for plaintext.
        package var tls: TLS?
        /// Whether plaintext at `tcp` is meant: only then may other machines reach it without TLS.
        package var plaintext = false
        /// The absolute path of the file with the password for TCP clients.
        package var passwordFile: String?
        /// Where requests of HTTP come in.
        package var http = HTTP()

        package init() {}
    }

    /// The user of the processes of another system user.
    package struct Peer: Sendable, Equatable {
        /// The name of the user in the users file.
        package let name: String
        /// Where it is in the configuration.
        package let path: String
        package let position: JSON5Position

        /// Whether both name one user, wherever in the file.
        package static func == (left: Peer, right: Peer) -> Bool { left.name == right.name }
    }

    /// An IPv4 address and a port.
    package struct Address: Sendable, Equatable, CustomStringConvertible {
        /// The four numbers in the order in which they are written: 127, 0, 0, 1.
        package let octets: [UInt8]
        package let port: UInt16

        /// Reads `127.0.0.1:7711`.
        ///
        /// - Returns: nil unless the text is four numbers up to 255, without leading zeros (which
        ///   some programs read as octal), a colon and a port from 1 on.
        package init?(_ text: String) {
            let halves = text.split(separator: ":", omittingEmptySubsequences: false)
            guard halves.count == 2, let port = Self.number(halves[1], max: 65535), port > 0
            else { return nil }
            let parts = halves[0].split(separator: ".", omittingEmptySubsequences: false)
            let octets = parts.compactMap { Self.number($0, max: 255).map(UInt8.init) }
            guard octets.count == 4, parts.count == 4 else { return nil }
            self.octets = octets
            self.port = UInt16(port)
        }

        private static func number(_ digits: Substring, max: Int) -> Int? {
            guard (1...5).contains(digits.utf8.count), digits.count == 1 || !digits.hasPrefix("0"),
                digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let number = Int(digits), number <= max
            else { return nil }
            return number
        }

        /// Whether only this machine can reach it: 127.0.0.0/8.
        package var isLoopback: Bool { octets[0] == 127 }

        /// Whether it stands for all addresses of the machine: 0.0.0.0.
        package var isWildcard: Bool { octets == [0, 0, 0, 0] }

        package var description: String {
            octets.map { "\($0)" }.joined(separator: ".") + ":\(port)"
        }
    }
}

extension Configuration.Listen: ConfigurationSection {
    mutating func read(from section: inout SectionReader) {
        section.read("unix", into: &unix, .socketPath)
        section.read("unixMode", into: &unixMode, .fileMode)
        section.values("peers", into: &peers, .peer, isName: Self.isPeer)
        section.read("tcp", into: &tcp, .address)
        section.readProtection(ofTCP: tcp, into: &tls, &plaintext)
        section.read("passwordFile", into: &passwordFile, .passwordFile)
        section.section("http", into: &http)
        if let unix, unix == http.unix {
            section.report("http", "has the path of listen.unix: give each door its own")
        }
        if let tcp, tcp.port != 0, tcp == http.tcp {
            section.report("http", "has the address of listen.tcp: give each door its own")
        }

        if !section.has("unix"), !section.has("tcp") {
            section.report("unix", "is missing: \(Self.doorNeeded)")
        }
        if section.has("peers"), !section.hasUsers {
            section.report("peers", "is of no use without a users file: add users or remove it")
        }
        if section.has("unixMode"), !section.has("unix") {
            section.report("unixMode", "is of no use without unix: add unix or remove it")
        }
        if section.has("tcp") {
            if !section.has("passwordFile"), !section.hasUsers {
                section.report(
                    "tcp", "is served only with a password: add passwordFile, or a users file")
            }
        } else if section.has("passwordFile") {
            section.report("passwordFile", "is of no use without tcp: add tcp or remove it")
        }
    }

    /// Whether a text can be a system user: its name, or its number.
    private static func isPeer(_ name: String, at place: Place) -> Bool {
        let isName =
            (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { (33...126).contains($0) && $0 != UInt8(ascii: ":") }
        if !isName { place.report("must be the name or the number of a user of this machine") }
        return isName
    }

    static let doorNeeded =
        "at least one door is needed, such as unix: \"/run/workerd/workerd.sock\""
}

extension ValueRule<Configuration.Peer> {
    /// The name of a user.
    fileprivate static var peer: Self {
        let rule = ValueRule<String>.text(such: "deploy", byteCountMax: 64)
        return ValueRule { value, place in
            rule.read(value, place).map {
                Configuration.Peer(name: $0, path: place.path, position: place.position)
            }
        }
    }
}

extension ValueRule<String> {
    /// The path of a new socket: short enough, in a directory that exists.
    static var socketPath: ValueRule {
        ValueRule { value, place in
            let max = Configuration.Listen.unixPathByteCountMax
            let rule = absolutePath(such: "/run/workerd/workerd.sock", byteCountMax: max)
            guard let path = rule.read(value, place) else { return nil }
            return place.isForNew("socket", path, isMadeAtStart: true) ? path : nil
        }
    }

    /// The absolute path of a file with a password.
    fileprivate static var passwordFile: ValueRule { secretFile("password") }

    /// The absolute path of a file with a secret; it is read again when the door is opened.
    static func secretFile(_ what: String) -> ValueRule {
        ValueRule { value, place in
            let rule = absolutePath(such: "/etc/workerd/\(what)")
            let max = Configuration.Listen.passwordFileByteCountMax
            guard let path = rule.read(value, place) else { return nil }
            switch place.files.kind(path) {
            case .program, .other:
                // A process that only checks the configuration may lack the right to read it.
                guard let bytes = try? place.files.contents(path, max),
                    File.firstLine(of: bytes).isEmpty
                else { return path }
                place.report("\(path.quoted) has no \(what) in its first line")
            case .missing: place.report("\(path.quoted) does not exist")
            case .directory: place.report("\(path.quoted) is a directory, must be a file")
            }
            return nil
        }
    }
}

extension ValueRule<UInt32> {
    /// The permission bits of a file, in octal.
    static var fileMode: ValueRule {
        .string(such: "0600") { text, place in
            let isOctal = text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0)
            }
            guard isOctal, (3...4).contains(text.utf8.count), let mode = UInt32(text, radix: 8),
                mode <= 0o777
            else {
                place.report("must be an octal mode, \"0000\"…\"0777\", is \(text.quoted)")
                return nil
            }
            return mode
        }
    }
}

extension ValueRule<Configuration.Address> {
    static var address: ValueRule {
        .string(such: "127.0.0.1:7711") { text, place in
            if let address = Configuration.Address(text) { return address }
            place.report(
                "must be an IPv4 address and a port such as \"127.0.0.1:7711\", is \(text.quoted)")
            return nil
        }
    }
}
