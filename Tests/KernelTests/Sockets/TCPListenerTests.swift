// Proves listening TCP sockets, on loopback only, and sockets that a service manager opened.

import Glibc
import Kernel
import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
struct TCPListenerTests {
    @Test(arguments: ["127.0.0.1:0", "[::1]:0"])
    func `a port that the kernel chooses is told and takes connections`(text: String) throws {
        guard hasAddress(text) else { try Test.cancel("this machine has no address ::1") }
        let listener = try Listener(at: SocketAddress(text))
        guard case .tcp(let address) = listener.address else {
            Issue.record("it listens at a tcp address, but: \(listener.address)")
            return
        }
        #expect(address.port > 0)
        let client = try listener.address.connect(timeoutMilliseconds: 5000)
        let server = try accepted(listener)
        _ = try client.send(contentsOf: [0x68, 0x69])
        #expect(try read(2, from: server) == "hi")
    }

    @Test func `both ends send small pieces at once`() throws {
        let listener = try Listener(at: SocketAddress("127.0.0.1:0"))
        let client = try listener.address.connect(timeoutMilliseconds: 5000)
        let server = try accepted(listener)
        #expect(noDelay(client) == 1)
        #expect(noDelay(server) == 1)
        #expect(fcntl(server.number, F_GETFL) & O_NONBLOCK != 0)
        #expect(fcntl(client.number, F_GETFL) & O_NONBLOCK == 0)
    }

    @Test func `a port with a living server is named`() throws {
        let first = try Listener(at: SocketAddress("127.0.0.1:0"))
        let address = first.address
        let error = socketError { () throws(SocketError) in _ = try Listener(at: address) }
        #expect(error == .inUse(address.description))
        _ = consume first
    }

    @Test func `a port is free again at once after a server with connections`() throws {
        let address = SocketAddress.tcp(try freePort())
        let first = try Listener(at: address)
        let client = try address.connect(timeoutMilliseconds: 5000)
        // The side that closes first keeps the port for a while, unless it may be reused.
        let server = try accepted(first)
        _ = consume server
        _ = consume first
        #expect(try readToEnd(client) == "")
        let second = try Listener(at: address)
        #expect(second.address == address)
    }

    @Test func `a port without a server refuses`() throws {
        let address = SocketAddress.tcp(try freePort())
        let error = socketError { () throws(SocketError) in
            _ = try address.connect(timeoutMilliseconds: 5000)
        }
        #expect(errorNumber(of: error) == ECONNREFUSED)
    }

    @Test func `an address that is not this machine's is named`() throws {
        let address = try SocketAddress("192.0.2.1:7711")
        let error = socketError { () throws(SocketError) in _ = try Listener(at: address) }
        let expected = SystemError(operation: "bind 192.0.2.1:7711", errno: EADDRNOTAVAIL)
        #expect(error == .system(expected))
    }
}

@Suite(.timeLimit(.minutes(2)))
struct InheritedListenerTests {
    @Test func `a socket that a service manager opened is used and its file is left`() throws {
        let directory = try TestDirectory()
        let address = try SocketAddress(directory.file("door"))
        let original = try Listener(at: address)
        do {
            let number = dup(original.descriptor.number)
            let inherited = try Listener(inherited: Int(number))
            #expect(inherited.address == address)
            #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
            let client = try address.connect(timeoutMilliseconds: 5000)
            _ = try accepted(inherited)
            _ = consume client
        }
        #expect(try File.kind(of: directory.file("door")) == .socket)
        _ = consume original
    }

    @Test(arguments: [-1, 1_000_000, Int.max])
    func `a number that is not open is an error`(number: Int) {
        let error = socketError { () throws(SocketError) in _ = try Listener(inherited: number) }
        #expect(errorNumber(of: error) == EBADF)
    }

    @Test func `what is no listening socket is an error`() throws {
        let pipe = try Pipe()
        let noSocket = dup(pipe.readEnd.number)
        let first = socketError { () throws(SocketError) in
            _ = try Listener(inherited: Int(noSocket))
        }
        #expect(errorNumber(of: first) == ENOTSOCK)
        let pair = try SocketPair()
        let notListening = dup(pair.first.number)
        let second = socketError { () throws(SocketError) in
            _ = try Listener(inherited: Int(notListening))
        }
        #expect(errorNumber(of: second) == EINVAL)
        _ = consume pair
        _ = consume pipe
    }
}

private func noDelay(_ descriptor: borrowing Descriptor) -> CInt {
    var value: CInt = -1
    var byteCount = socklen_t(MemoryLayout<CInt>.size)
    unsafe getsockopt(descriptor.number, CInt(IPPROTO_TCP), TCP_NODELAY, &value, &byteCount)
    return value
}

/// Whether this machine has the address, such as ::1.
///
/// A kernel with IPv6 may have it switched off, as in many containers.
private func hasAddress(_ text: String) -> Bool {
    guard text.hasPrefix("[") else { return true }
    let bytes = (try? File.read("/proc/net/if_inet6", atMost: 1 << 20)) ?? []
    let loopback = String(repeating: "0", count: 31) + "1 "
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        .contains { $0.hasPrefix(loopback) }
}
