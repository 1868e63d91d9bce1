// The connection below a session: a socket, with TLS or without.

internal import Kernel
internal import RunLoops
internal import TLS

/// The reader of a socket.
protocol SocketReader: AnyObject {
    /// The socket; nil once it is closed.
    var socket: Session.Socket? { get }

    /// Handles a ready socket.
    func handle(_ readiness: Readiness)
}

extension SocketReader {
    /// Reads in the next pass what TLS has: the socket does not report it.
    func readHeldInput(on loop: ThreadRunLoop) {
        guard let socket, socket.tls?.holdsInput == true, !socket.isReadPlanned else { return }
        socket.isReadPlanned = true
        let reader = Confined(self as any SocketReader, to: loop)
        loop.perform {
            guard let socket = reader.value.socket, let tls = socket.tls else { return }
            socket.isReadPlanned = false
            reader.value.handle(tls.readNeed.readiness)
        }
    }
}

extension Session {
    /// The connection itself; letting go of it closes it.
    ///
    /// Each call answers "would block" as those of `Descriptor` do. A link to another node is one,
    /// too.
    final class Socket {
        let descriptor: Descriptor
        /// TLS on the socket; nil for plaintext.
        let tls: TLSConnection?
        /// Only compares: to look at `tls` would count a reference, for each read and write.
        private var isPlain: Bool { tls == nil }
        /// Whether a read is planned because TLS has bytes that the socket does not report.
        var isReadPlanned = false

        init(_ descriptor: consuming Descriptor, _ context: TLSContext? = nil) throws(TLSError) {
            if let context {
                tls = try TLSConnection(server: context, descriptor)
            } else {
                tls = nil
            }
            self.descriptor = descriptor
        }

        /// The client's end, with TLS.
        ///
        /// - Parameter fingerprint: of the one certificate that the server may have.
        init(
            _ descriptor: consuming Descriptor, client context: TLSContext,
            pinnedTo fingerprint: String
        ) throws(TLSError) {
            tls = try TLSConnection(client: context, descriptor, pinnedTo: fingerprint)
            self.descriptor = descriptor
        }

        /// The meaning of a ready socket: a read of TLS may have to write first.
        func meaning(of readiness: Readiness) -> Readiness {
            guard let tls else { return readiness }
            var possible: Readiness = []
            if readiness.contains(tls.readNeed.readiness) { possible.insert(.readable) }
            if readiness.contains(tls.writeNeed.readiness) { possible.insert(.writable) }
            return possible
        }

        /// The readiness that is needed for an interest.
        func need(for interest: Readiness) -> Readiness {
            guard let tls else { return interest }
            var need: Readiness = []
            if interest.contains(.readable) { need.insert(tls.readNeed.readiness) }
            if interest.contains(.writable) { need.insert(tls.writeNeed.readiness) }
            return need
        }

        /// Reads once into the free room of a buffer.
        @inline(__always)
        func read(into room: inout OutputSpan<UInt8>) throws(TLSError) -> ReadResult {
            if !isPlain, let tls { return try tls.read(into: &room) }
            do throws(SystemError) {
                return try descriptor.read(into: &room)
            } catch {
                throw .system(error)
            }
        }

        /// Reads once, to the end of `bytes`.
        func read(
            appendingTo bytes: inout [UInt8], atMost byteCountMax: Int
        ) throws(TLSError) -> ReadResult {
            var result = ReadResult.wouldBlock
            try bytes.append(addingCapacity: byteCountMax) {
                (room: inout OutputSpan<UInt8>) throws(TLSError) in
                result = try read(into: &room)
            }
            return result
        }

        /// Writes bytes once; perhaps only the first part.
        @inline(__always)
        func send(contentsOf bytes: [UInt8]) throws(TLSError) -> WriteResult {
            if !isPlain, let tls { return try tls.write(bytes.span) }
            do throws(SystemError) {
                return try descriptor.send(contentsOf: bytes)
            } catch {
                throw .system(error)
            }
        }

        /// Writes chunks once; perhaps only the first part.
        @inline(__always)
        func sendVector(
            _ chunks: ArraySlice<[UInt8]>, from offset: Int
        ) throws(TLSError) -> WriteResult {
            if !isPlain, let tls { return try tls.write(chunks, from: offset) }
            do throws(SystemError) {
                return try descriptor.sendVector(chunks, from: offset)
            } catch {
                throw .system(error)
            }
        }

        /// Tells the client that nothing more will be written; reading goes on.
        func shutdownWriting() throws(SystemError) {
            tls?.shutdownWriting()
            try descriptor.shutdownWriting()
        }
    }
}
