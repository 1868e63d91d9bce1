// The connection below a session: a socket, with TLS or without.

internal import Kernel
internal import TLS

extension Session {
    /// The connection itself; letting go of it closes it.
    ///
    /// Each call answers "would block" as those of `Descriptor` do.
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
