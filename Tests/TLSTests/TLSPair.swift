// Two ends of a connection with TLS in one thread, over a pair of sockets.

import Kernel
import Support
import TLS

/// The content of a file.
func contents(_ path: String) throws -> [UInt8] { try File.read(path, atMost: 1 << 20) }

extension TLSContext {
    /// A server's context with a certificate of the tests' authority.
    static func testServer(
        _ issued: TestAuthority.Issued? = nil, authorities: String? = nil,
        requiresClient: Bool = false
    ) throws -> TLSContext {
        let issued = try issued ?? TestAuthority.shared().issue("server")
        return try TLSContext(
            serving: .redis,
            ServerFiles(
                certificate: contents(issued.certificate), key: contents(issued.key),
                authorities: authorities.map { try contents($0) }, requiresClient: requiresClient))
    }

    /// A client's context that trusts an authority.
    static func testClient(
        _ authority: TestAuthority? = nil, _ own: TestAuthority.Issued? = nil
    ) throws -> TLSContext {
        let authority = try authority ?? TestAuthority.shared()
        return try TLSContext(
            trusting: contents(authority.certificate),
            identity: own.map { (try contents($0.certificate), try contents($0.key)) })
    }
}

/// A socket and the TLS on it.
final class TLSEnd {
    let socket: Descriptor
    let tls: TLSConnection

    init(_ socket: consuming Descriptor, _ make: (borrowing Descriptor) throws -> TLSConnection)
        throws
    {
        tls = try make(socket)
        self.socket = socket
    }

    /// Whether the kernel holds bytes for this end.
    var isReadable: Bool { isReady(socket.number, within: 0) }

    /// Reads once.
    func read(atMost byteCount: Int) throws -> (result: ReadResult, bytes: [UInt8]) {
        var bytes: [UInt8] = []
        var result = ReadResult.wouldBlock
        try bytes.append(addingCapacity: byteCount) {
            (room: inout OutputSpan<UInt8>) throws(TLSError) in
            result = try tls.read(into: &room, atMost: byteCount)
        }
        return (result, bytes)
    }

    func write(_ bytes: [UInt8]) throws -> WriteResult { try tls.write(bytes.span) }
}

/// A client and a server; the client knows the server by its name, or by its certificate's pin.
struct TLSPair {
    let client: TLSEnd
    let server: TLSEnd

    init(
        server: TLSContext? = nil, client: TLSContext? = nil, name: String = "localhost",
        pin: String? = nil
    ) throws {
        let server = try server ?? .testServer()
        let client = try client ?? .testClient()
        var serverEnd: TLSEnd?
        let socket = try SocketPair().split { socket in
            serverEnd = try? TLSEnd(socket) { try TLSConnection(server: server, $0) }
        }
        guard let serverEnd else { throw Unexpected("there is no server's end") }
        self.server = serverEnd
        self.client = try TLSEnd(socket) { socket in
            guard let pin else {
                return try TLSConnection(client: client, socket, toServer: name)
            }
            return try TLSConnection(client: client, socket, pinnedTo: pin)
        }
    }

    /// Lets both ends do their parts until both are done.
    func shakeHands() throws {
        while !client.tls.isEstablished || !server.tls.isEstablished {
            try client.tls.shakeHands()
            try server.tls.shakeHands()
        }
    }

    /// The fault of each end in a handshake that fails; nil for an end that is content.
    func faults() -> (client: TLSError?, server: TLSError?) {
        var found: (client: TLSError?, server: TLSError?)
        for _ in 0..<8 {
            do throws(TLSError) { try client.tls.shakeHands() } catch { found.client = error }
            do throws(TLSError) { try server.tls.shakeHands() } catch { found.server = error }
            // With version 1.3 the client is done before the server has looked at its certificate.
            if found.server != nil, found.client == nil, client.tls.isEstablished {
                do { _ = try client.read(atMost: 1) } catch { found.client = error as? TLSError }
            }
        }
        return found
    }
}
