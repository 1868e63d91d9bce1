// Proves addresses as text: which are accepted, and the errors of the others.

import Kernel
import Support
import Testing

@Suite struct AddressTests {
    @Test func `a path of 107 bytes fits, one of 108 is refused with both lengths`() throws {
        let longest = "/" + String(repeating: "x", count: 106)
        #expect(try UnixAddress(longest).path == longest)
        let error = socketError { () throws(SocketError) in _ = try UnixAddress(longest + "x") }
        #expect(error == .pathTooLong(path: longest + "x", byteCount: 108, byteCountMax: 107))
        let text = try #require(error?.description)
        #expect(text.contains("107") && text.contains("108"))
    }

    @Test func `the length of a path is counted in bytes`() {
        let error = socketError { () throws(SocketError) in
            _ = try UnixAddress(String(repeating: "ü", count: 54))
        }
        let path = String(repeating: "ü", count: 54)
        #expect(error == .pathTooLong(path: path, byteCount: 108, byteCountMax: 107))
    }

    @Test(arguments: ["", "/run/a\0b"])
    func `a path that is empty or contains NUL is refused`(path: String) {
        let error = socketError { () throws(SocketError) in _ = try UnixAddress(path) }
        guard case .badAddress = error else {
            Issue.record("it is refused as a bad address, but: \(String(describing: error))")
            return
        }
    }

    @Test(arguments: [
        "127.0.0.1:7711", "0.0.0.0:0", "255.255.255.255:65535", "[::1]:7711", "[::]:1",
        "[2001:db8::7]:80",
    ])
    func `an address is written as it was read`(text: String) throws {
        #expect(try TCPAddress(text).description == text)
        #expect(try SocketAddress(text) == .tcp(TCPAddress(text)))
    }

    @Test(arguments: [
        ("", "no port"), ("7711", "no port"), ("127.0.0.1", "no port"),
        ("127.0.0.1:", "0...65535"), ("127.0.0.1:65536", "0...65535"),
        ("127.0.0.1:-1", "0...65535"), ("127.0.0.1:+1", "0...65535"),
        ("127.0.0.1: 1", "0...65535"), ("127.0.0.1:１", "0...65535"), (":7711", "IPv4"),
        ("*:7711", "IPv4"), ("localhost:7711", "names are not looked up"), ("1.2.3:7", "IPv4"),
        ("1.2.3.256:7", "IPv4"), ("127.0.0.1\0.example:7", "IPv4"), ("::1:7711", "brackets"),
        ("[::1]", "0...65535"), ("[127.0.0.1]:7", "IPv6"), ("[]:7", "IPv6"), ("[::g]:7", "IPv6"),
        ("[::1:7711", "brackets"),
    ])
    func `what is wrong with an address is said`(text: String, reason: String) {
        let error = socketError { () throws(SocketError) in _ = try TCPAddress(text) }
        guard case .badAddress(text, let told) = error else {
            Issue.record("it is refused as a bad address, but: \(String(describing: error))")
            return
        }
        #expect(told.contains(reason))
    }

    @Test func `text with a slash is a path`() throws {
        #expect(try SocketAddress("./a:7") == .unix(UnixAddress("./a:7")))
    }
}
