// The address of a TCP socket in numbers. Names are not looked up: that would block, and a daemon
// that binds to a name binds to whatever the name says that day.

internal import CLinux
internal import Glibc

/// A numeric IPv4 or IPv6 address with a port.
package struct TCPAddress: Hashable, Sendable, CustomStringConvertible {
    /// The address's 4 or 16 bytes, in network order.
    let bytes: [UInt8]
    /// The port; 0 lets the kernel choose one that is free.
    package let port: UInt16

    /// Reads `host:port`, such as `127.0.0.1:7711` or `[::1]:7711`.
    ///
    /// - Throws: `SocketError.badAddress`, which says what is wrong with it.
    /// - Thread: any.
    /// - Blocks: never; no name is looked up.
    package init(_ text: String) throws(SocketError) {
        guard let colon = text.lastIndex(of: ":") else {
            throw .badAddress(text: text, reason: "an address is host:port, and there is no port")
        }
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }),
            let port = UInt16(digits)
        else {
            throw .badAddress(text: text, reason: "the port must be 0...65535, is \"\(digits)\"")
        }
        self.port = port
        var host = text[..<colon]
        if host.hasPrefix("[") && host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard let bytes = TCPAddress.parse(String(host), family: AF_INET6, byteCount: 16)
            else {
                throw .badAddress(text: text, reason: "\"\(host)\" is no numeric IPv6 address")
            }
            self.bytes = bytes
        } else if host.contains(":") {
            throw .badAddress(
                text: text, reason: "an IPv6 address goes in brackets, as in [::1]:7711")
        } else {
            guard let bytes = TCPAddress.parse(String(host), family: AF_INET, byteCount: 4)
            else {
                throw .badAddress(
                    text: text,
                    reason: "\"\(host)\" is no numeric IPv4 address; names are not looked up")
            }
            self.bytes = bytes
        }
    }

    /// The addresses that one client has: an IPv4 address, or the 64 bits of an IPv6 network.
    package var network: String {
        if bytes.count == 4 { return bytes.map(String.init).joined(separator: ".") }
        if bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255]) {
            return bytes[12...].map(String.init).joined(separator: ".")
        }
        return bytes[..<8].map { String($0, radix: 16) }.joined(separator: ":") + "/64"
    }

    /// Whether the address is of the sixth version.
    package var isIPv6: Bool { bytes.count == 16 }

    /// The address as it is written: `127.0.0.1:7711`, `[::1]:7711`.
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = isIPv6 ? AF_INET6 : AF_INET
        guard unsafe inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else {
            return "?:\(port)"
        }
        let host = String(
            decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    private static func parse(_ host: String, family: CInt, byteCount: Int) -> [UInt8]? {
        // inet_pton stops at a NUL, so that the rest would go unnoticed.
        if host.utf8.contains(0) { return nil }
        var bytes = [UInt8](repeating: 0, count: byteCount)
        return unsafe inet_pton(family, host, &bytes) == 1 ? bytes : nil
    }
}

extension TCPAddress {
    /// The address as the kernel wants it; for IPv4.
    var storage4: sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        unsafe withUnsafeMutableBytes(of: &address.sin_addr) { room in
            unsafe room.copyBytes(from: bytes)
        }
        return address
    }

    /// The address as the kernel wants it; for IPv6.
    var storage6: sockaddr_in6 {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        unsafe withUnsafeMutableBytes(of: &address.sin6_addr) { room in
            unsafe room.copyBytes(from: bytes)
        }
        return address
    }

    init(_ address: sockaddr_in) {
        bytes = unsafe withUnsafeBytes(of: address.sin_addr) { unsafe [UInt8]($0) }
        port = UInt16(bigEndian: address.sin_port)
    }

    init(_ address: sockaddr_in6) {
        bytes = unsafe withUnsafeBytes(of: address.sin6_addr) { unsafe [UInt8]($0) }
        port = UInt16(bigEndian: address.sin6_port)
    }
}
