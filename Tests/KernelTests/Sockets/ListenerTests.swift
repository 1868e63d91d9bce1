// Proves listening Unix sockets: the file's mode bits, its replacement and its removal.

import Glibc
import Kernel
import Support
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2)))
struct ListenerTests {
    let directory: TestDirectory
    let address: SocketAddress

    init() throws {
        directory = try TestDirectory()
        address = try SocketAddress(directory.file("door"))
    }

    @Test func `nobody is waiting at first, then a connection carries bytes both ways`() throws {
        let listener = try Listener(at: address)
        if case .wouldBlock = try listener.accept() {} else { Issue.record("nobody connected") }
        let client = try address.connect(timeoutMilliseconds: 5000)
        let server = try accepted(listener)
        _ = try client.send(contentsOf: [0x68, 0x69])
        #expect(try read(2, from: server) == "hi")
        _ = try server.sendVector([[0x68], [0x6F]])
        #expect(try read(2, from: client) == "ho")
        try client.shutdownWriting()
        #expect(try readToEnd(server) == "")
    }

    @Test func `connections are set up for a loop, clients' ends are not`() throws {
        let listener = try Listener(at: address)
        let client = try address.connect(timeoutMilliseconds: 5000)
        let server = try accepted(listener)
        for number in [listener.descriptor.number, server.number] {
            #expect(fcntl(number, F_GETFL) & O_NONBLOCK != 0)
            #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
        }
        #expect(fcntl(client.number, F_GETFL) & O_NONBLOCK == 0)
        #expect(fcntl(client.number, F_GETFD) & FD_CLOEXEC != 0)
    }

    @Test(arguments: [0o600, 0o660, 0o666, 0o777] as [UInt32])
    func `the socket file has the mode bits asked for, whatever the umask is`(mode: UInt32) throws {
        let listener = try Listener(at: address, mode: mode)
        #expect(try File.mode(of: directory.file("door")) == mode)
        _ = consume listener
    }

    @Test func `the kernel makes a socket file with the mode bits of the socket`() throws {
        // The listener relies on it: so the file is never more open than it should be.
        let pair = try rawSocket()
        #expect(fchmod(pair.number, 0o400) == 0)
        #expect(bindRaw(pair, directory.file("door")) == 0)
        #expect(try File.mode(of: directory.file("door")) == 0o400)
    }

    @Test func `a socket file that a dead server left is replaced`() throws {
        do {
            let dead = try rawSocket()
            #expect(bindRaw(dead, directory.file("door")) == 0)
        }
        #expect(try File.kind(of: directory.file("door")) == .socket)
        let listener = try Listener(at: address)
        let client = try address.connect(timeoutMilliseconds: 5000)
        _ = try accepted(listener)
        _ = consume client
    }

    @Test func `a living server is left alone and named`() throws {
        let first = try Listener(at: address)
        let error = socketError { () throws(SocketError) in _ = try Listener(at: address) }
        #expect(error == .inUse(directory.file("door")))
        let client = try address.connect(timeoutMilliseconds: 5000)
        // The first in the queue is the attempt of the second server to find out.
        _ = try accepted(first)
        _ = try accepted(first)
        _ = consume client
    }

    @Test(.timeLimit(.minutes(1))) func `a server that leaves is waited for`() throws {
        let first = try Listener(at: address)
        let address = address
        let error = Mutex<(any Error)?>(nil)
        let second = try SystemThread(name: "second") {
            do { _ = try Listener.awaited(at: address) } catch let fault {
                error.withLock { $0 = fault }
            }
        }
        // The attempt of the second server to find out.
        _ = try accepted(first)
        _ = consume first
        second.join()
        #expect(error.withLock { $0 } == nil)
    }

    @Test func `a living server whose queue is full is left alone`() throws {
        let first = try Listener(at: address, backlog: 0)
        let client = try address.connect(timeoutMilliseconds: 5000)
        let error = socketError { () throws(SocketError) in _ = try Listener(at: address) }
        #expect(error == .inUse(directory.file("door")))
        _ = consume client
        _ = consume first
    }

    @Test func `a client of a server whose queue is full gives up in time`() throws {
        let listener = try Listener(at: address, backlog: 0)
        let first = try address.connect(timeoutMilliseconds: 5000)
        let error = socketError { () throws(SocketError) in
            _ = try address.connect(timeoutMilliseconds: 30)
        }
        #expect(errorNumber(of: error) == ETIMEDOUT)
        _ = consume first
        _ = consume listener
    }

    @Test(arguments: ["unix", "127.0.0.1:0"])
    func `a client gives up in time however many signals come`(door: String) throws {
        let address = door == "unix" ? address : .tcp(try TCPAddress(door))
        let listener = try Listener(at: address, backlog: 0)
        let bound = listener.address
        let first = try bound.connect(timeoutMilliseconds: 5000)
        let error = try underSignals {
            socketError { () throws(SocketError) in
                _ = try bound.connect(timeoutMilliseconds: 30)
            }
        }
        #expect(errorNumber(of: error) == ETIMEDOUT)
        _ = consume first
        _ = consume listener
    }

    @Test func `what is no socket is named and left as it is`() throws {
        try File.write([1, 2], to: directory.file("door"))
        let error = socketError { () throws(SocketError) in _ = try Listener(at: address) }
        #expect(error == .notASocket(path: directory.file("door")))
        #expect(try File.read(directory.file("door"), atMost: 10) == [1, 2])
    }

    @Test func `a link is not followed, even to a dead socket`() throws {
        let dead = try rawSocket()
        #expect(bindRaw(dead, directory.file("dead")) == 0)
        let result = unsafe symlink(directory.file("dead"), directory.file("door"))
        #expect(result == 0)
        let error = socketError { () throws(SocketError) in _ = try Listener(at: address) }
        #expect(error == .notASocket(path: directory.file("door")))
        #expect(try Directory.names(in: directory.path).sorted() == ["dead", "door"])
    }

    @Test func `a directory that does not exist is named`() throws {
        let missing = try SocketAddress(directory.file("no/door"))
        let error = socketError { () throws(SocketError) in _ = try Listener(at: missing) }
        let expected = SystemError(operation: "open \(directory.file("no"))", errno: ENOENT)
        #expect(error == .system(expected))
    }

    @Test func `a listener takes its file with it`() throws {
        do {
            let listener = try Listener(at: address)
            #expect(try File.kind(of: directory.file("door")) == .socket)
            _ = consume listener
        }
        #expect(try File.kind(of: directory.file("door")) == nil)
        let error = socketError { () throws(SocketError) in
            _ = try address.connect(timeoutMilliseconds: 5000)
        }
        #expect(errorNumber(of: error) == ENOENT)
    }

    @Test func `a file that has become another listener's is not removed`() throws {
        let first = try Listener(at: address)
        try File.remove(directory.file("door"))
        let second = try Listener(at: address)
        _ = consume first
        let client = try address.connect(timeoutMilliseconds: 5000)
        _ = try accepted(second)
        _ = consume client
    }

    @Test func `of many servers that find the same dead file one gets its place`() async throws {
        do {
            let dead = try rawSocket()
            #expect(bindRaw(dead, directory.file("door")) == 0)
        }
        let address = address
        let outcomes = await withTaskGroup(of: Contender.self) { group in
            for _ in 0..<8 { group.addTask { Contender(at: address) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let winners = outcomes.filter { $0.error == nil }
        #expect(winners.count == 1)
        let errors = outcomes.compactMap(\.error)
        #expect(errors.count == 7)
        // A contender that waits a second in vain, because the machine holds the other up, is
        // refused so.
        let refusals: [SocketError] = [
            .inUse(address.description), .directoryBusy(directory.path),
        ]
        #expect(errors.allSatisfy(refusals.contains), "\(errors)")
        // A listener removes its file.
        try withExtendedLifetime(winners) {
            let client = try address.connect(timeoutMilliseconds: 5000)
            _ = consume client
        }
    }

    @Test func `a directory that another program keeps locked is named after a second`() throws {
        let lock = try unsafe Descriptor(
            owning: required(open(directory.path, O_RDONLY | O_CLOEXEC)))
        #expect(flock(lock.number, LOCK_EX) == 0)
        let error = socketError { () throws(SocketError) in _ = try Listener(at: address) }
        #expect(error == .directoryBusy(directory.path))
        lock.close()
        let listener = try Listener(at: address)
        #expect(listener.address == address)
    }

    @Test func `nobody listening, and no file at all, are told apart`() throws {
        let none = socketError { () throws(SocketError) in
            _ = try address.connect(timeoutMilliseconds: 5000)
        }
        #expect(none == .system(SystemError(operation: "connect \(address)", errno: ENOENT)))
        let dead = try rawSocket()
        #expect(bindRaw(dead, directory.file("door")) == 0)
        let refused = socketError { () throws(SocketError) in
            _ = try address.connect(timeoutMilliseconds: 5000)
        }
        #expect(errorNumber(of: refused) == ECONNREFUSED)
    }

    @Test func `sending to nobody is an error and no signal`() throws {
        let pair = try SocketPair()
        let first = try pair.first.duplicate()
        _ = consume pair
        let single = errorNumber { () throws(SystemError) in
            _ = try first.send(contentsOf: [1])
        }
        let vector = errorNumber { () throws(SystemError) in _ = try first.sendVector([[1]]) }
        #expect(single == EPIPE)
        #expect(vector == EPIPE)
    }

    @Test func `connections of a port end when the other machine is gone`() throws {
        let listener = try Listener(at: .tcp(try TCPAddress("127.0.0.1:0")))
        let client = try listener.address.connect(timeoutMilliseconds: 5000)
        let server = try accepted(listener)
        func value(_ level: CInt, _ option: CInt) -> CInt {
            var value: CInt = 0
            var byteCount = socklen_t(MemoryLayout<CInt>.size)
            unsafe getsockopt(server.number, level, option, &value, &byteCount)
            return value
        }
        let tcp = CInt(IPPROTO_TCP)
        #expect(value(SOL_SOCKET, SO_KEEPALIVE) == 1)
        #expect(value(tcp, TCP_KEEPIDLE) == 30)
        #expect(value(tcp, TCP_KEEPINTVL) == 10)
        #expect(value(tcp, TCP_KEEPCNT) == 3)
        #expect(value(tcp, TCP_USER_TIMEOUT) == 120_000)
        _ = consume client
    }

    @Test func `without free descriptors a listener says so and goes on afterwards`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TestDirectory()
            let address = try SocketAddress(directory.file("door"))
            let listener = try Listener(at: address)
            let client = try address.connect(timeoutMilliseconds: 5000)
            var limit = rlimit()
            unsafe getrlimit(CInt(RLIMIT_NOFILE.rawValue), &limit)
            let before = limit
            limit.rlim_cur = 0
            unsafe setrlimit(CInt(RLIMIT_NOFILE.rawValue), &limit)
            guard case .outOfDescriptors = try listener.accept() else { exit(EXIT_FAILURE) }
            limit = before
            unsafe setrlimit(CInt(RLIMIT_NOFILE.rawValue), &limit)
            guard case .connection = try listener.accept() else { exit(EXIT_FAILURE) }
            // None waits any more, and no descriptor is needed to see that.
            limit.rlim_cur = 1
            unsafe setrlimit(CInt(RLIMIT_NOFILE.rawValue), &limit)
            guard case .wouldBlock = try listener.accept() else { exit(EXIT_FAILURE) }
            _ = consume client
        }
    }
}

/// Tries to become the server, and stays it.
private final class Contender: Sendable {
    let listener: ListenerBox?
    let error: SocketError?

    init(at address: SocketAddress) {
        do throws(SocketError) {
            listener = ListenerBox(try Listener(at: address))
            error = nil
        } catch {
            listener = nil
            self.error = error
        }
    }
}

private final class ListenerBox: Sendable {
    let listener: Listener

    init(_ listener: consuming Listener) {
        self.listener = listener
    }
}

/// Waits for the next connection and takes it.
func accepted(_ listener: borrowing Listener) throws -> Descriptor {
    try waitUntilReadable(listener.descriptor)
    switch try listener.accept() {
    case .connection(let descriptor): return descriptor
    case .wouldBlock: throw Unexpected("no connection")
    case .outOfDescriptors: throw Unexpected("out of descriptors")
    }
}

/// An unbound socket.
private func rawSocket() throws -> Descriptor {
    let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    return try Descriptor(owning: required(socket(AF_UNIX, type, 0)))
}

/// The number of a descriptor; throws if the call that should have made it failed.
private func required(_ number: CInt) throws -> CInt {
    if number < 0 { throw Unexpected("no descriptor: error \(errno)") }
    return number
}

/// Binds without the checks of a listener.
private func bindRaw(_ descriptor: borrowing Descriptor, _ path: String) -> CInt {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    return unsafe withUnsafePointer(to: &address) { address in
        unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            unsafe bind(descriptor.number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
}
