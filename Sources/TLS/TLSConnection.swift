// TLS on one socket: its bytes in and out of OpenSSL. Like `Descriptor` it answers "would block",
// and says what the socket has to be ready for; it knows neither loops nor what the bytes mean.

internal import COpenSSL
internal import Glibc
package import Kernel

/// One end of a connection with TLS.
///
/// - Thread: one at a time.
/// - Source: ssl(7).
@safe package final class TLSConnection {
    /// The readiness of the socket that a call needs before it is made again.
    package enum Need: Sendable {
        case readable
        case writable
    }

    private let pointer: OpaquePointer
    /// The connection's settings, whose socket method it uses as long as it lives.
    private let context: TLSContext
    /// Whether the handshake is done.
    package private(set) var isEstablished = false
    /// The needs of the last step of the handshake, the last read and the last write; a write may
    /// have to read first, and a read to write.
    package private(set) var handshakeNeed = Need.readable
    package private(set) var readNeed = Need.readable
    package private(set) var writeNeed = Need.writable
    /// Whether OpenSSL may have bytes, or the end, that the socket does not report any more.
    package private(set) var holdsInput = false
    /// Why the connection is of no use.
    private var fault: TLSError?
    /// The fingerprint of the one certificate that the server may have; nil if authorities decide.
    private var pin: String?

    /// The server's end.
    ///
    /// - Parameter socket: non-blocking; lives longer than this.
    /// - Throws: that there is no memory.
    package convenience init(
        server context: TLSContext, _ socket: borrowing Descriptor
    ) throws(TLSError) {
        try self.init(context, socket)
        unsafe SSL_set_accept_state(pointer)
    }

    /// The client's end.
    ///
    /// - Parameters:
    ///   - socket: non-blocking; lives longer than this.
    ///   - name: the name or the address that the server's certificate has to be for.
    package convenience init(
        client context: TLSContext, _ socket: borrowing Descriptor, toServer name: String
    ) throws(TLSError) {
        try self.init(context, socket)
        unsafe SSL_set_connect_state(pointer)
        ErrorQueue.clear()
        // An address is not sent as the server's name.
        if unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(pointer), name) == 1 { return }
        guard
            unsafe SSL_set1_host(pointer, name) == 1 && copenssl_set_server_name(pointer, name) == 1
        else { throw ErrorQueue.take() }
        ErrorQueue.clear()
    }

    /// The client's end, with a server that is known by its certificate: authority, name and time
    /// don't count.
    ///
    /// - Parameters:
    ///   - socket: non-blocking; lives longer than this.
    ///   - fingerprint: the SHA-256 digest of the certificate, in hexadecimal. With another one
    ///     the handshake fails, and nothing can be written.
    package convenience init(
        client context: TLSContext, _ socket: borrowing Descriptor, pinnedTo fingerprint: String
    ) throws(TLSError) {
        try self.init(context, socket)
        pin = fingerprint
        unsafe SSL_set_connect_state(pointer)
        unsafe SSL_set_verify(pointer, SSL_VERIFY_NONE, nil)
    }

    private init(_ context: TLSContext, _ socket: borrowing Descriptor) throws(TLSError) {
        ErrorQueue.clear()
        guard let pointer = unsafe SSL_new(context.pointer) else { throw ErrorQueue.take() }
        unsafe self.pointer = pointer
        self.context = context
        guard unsafe copenssl_set_socket(pointer, context.socketMethod, socket.number) == 1 else {
            throw ErrorQueue.take()
        }
    }

    deinit { unsafe SSL_free(pointer) }

    /// Goes on with the handshake; `handshakeNeed` tells what it waits for unless it is done.
    ///
    /// - Throws: why there is none, after the other end was told.
    /// - Blocks: never; it may compute for a millisecond.
    package func shakeHands() throws(TLSError) {
        if let fault { throw fault }
        guard !isEstablished else { return }
        ErrorQueue.clear()
        let result = unsafe SSL_do_handshake(pointer)
        if result == 1 {
            try checkPin()
            isEstablished = true
            // Commands may have come with the last part of the handshake.
            holdsInput = true
            return
        }
        guard let need = try need(after: result, errno) else { throw fail(.hungUp) }
        handshakeNeed = need
    }

    /// Checks that the server has the one certificate that it may have; its key was proved.
    private func checkPin() throws(TLSError) {
        guard let pin else { return }
        let found = unsafe SSL_get1_peer_certificate(pointer).map {
            unsafe Certificate(owning: $0).fingerprint
        }
        guard found == pin else {
            throw fail(.otherCertificate(fingerprint: found ?? "none"))
        }
    }

    /// Reads the bytes that have arrived into the free room of a buffer.
    ///
    /// - Parameters:
    ///   - room: the buffer, with room for at least one byte; the bytes read are appended.
    ///   - byteCountMax: how much to read at most, at least 1.
    /// - Throws: also what an earlier call has met behind the bytes that it returned.
    /// - Blocks: never.
    /// - Source: SSL_read_ex(3).
    package func read(
        into room: inout OutputSpan<UInt8>, atMost byteCountMax: Int = .max
    ) throws(TLSError) -> ReadResult {
        try unsafe room.withUnsafeMutableBufferPointer { (buffer, count) throws(TLSError) in
            let free = unsafe UnsafeMutableBufferPointer(rebasing: buffer[count...])
                .prefix(byteCountMax)
            let result = try unsafe read(into: UnsafeMutableBufferPointer(rebasing: free))
            if case .bytes(let readCount) = result { count += readCount }
            return result
        }
    }

    private func read(into buffer: UnsafeMutableBufferPointer<UInt8>) throws(TLSError) -> ReadResult
    {
        require(buffer.count > 0, "a read needs room for at least one byte")
        if let fault { throw fault }
        var total = 0
        // Unless proved otherwise below.
        holdsInput = true
        while total < buffer.count, let base = buffer.baseAddress {
            var count = 0
            ErrorQueue.clear()
            let result = unsafe SSL_read_ex(pointer, base + total, buffer.count - total, &count)
            if result == 1 {
                total += count
                // The socket reports its own bytes.
                if unsafe SSL_has_pending(pointer) == 0 {
                    holdsInput = false
                    break
                }
                continue
            }
            let error = errno
            do throws(TLSError) {
                guard let need = try need(after: result, error) else {
                    return total > 0 ? .bytes(total) : .end
                }
                readNeed = need
                holdsInput = false
                return total > 0 ? .bytes(total) : .wouldBlock
            } catch {
                // The bytes before it count; the next call throws it.
                if total > 0 { return .bytes(total) }
                throw error
            }
        }
        readNeed = .readable
        return .bytes(total)
    }

    /// Writes a span, or as much of it as the socket takes.
    ///
    /// After "would block", the next call begins with the same bytes, at any address.
    ///
    /// - Blocks: never.
    /// - Source: SSL_write_ex(3).
    package func write(_ bytes: Span<UInt8>) throws(TLSError) -> WriteResult {
        try unsafe bytes.withUnsafeBytes { (bytes) throws(TLSError) in
            if let fault { throw fault }
            var total = 0
            while total < bytes.count, let base = bytes.baseAddress {
                var count = 0
                ErrorQueue.clear()
                let result = unsafe SSL_write_ex(pointer, base + total, bytes.count - total, &count)
                if result == 1 {
                    total += count
                    continue
                }
                guard let need = try need(after: result, errno) else { throw fail(.hungUp) }
                writeNeed = need
                return total > 0 ? .wrote(total) : .wouldBlock
            }
            writeNeed = .writable
            return .wrote(total)
        }
    }

    /// Writes chunks in order, or as much of them as the socket takes.
    ///
    /// - Parameters:
    ///   - chunks: what to write.
    ///   - offset: how many bytes of the first chunk are out already.
    /// - Returns: how many bytes went out, counted over all chunks from `offset` on.
    /// - Throws: as `write(_:)`.
    /// - Blocks: never.
    package func write(
        _ chunks: ArraySlice<[UInt8]>, from offset: Int
    ) throws(TLSError) -> WriteResult {
        var (offset, total) = (offset, 0)
        for chunk in chunks {
            guard case .wrote(let count) = try write(chunk.span.extracting(offset...)) else {
                return total > 0 ? .wrote(total) : .wouldBlock
            }
            total += count
            guard count == chunk.count - offset else { break }
            offset = 0
        }
        return .wrote(total)
    }

    /// Tells the other end that nothing more will be written (close_notify); reading goes on.
    ///
    /// A courtesy: if the socket has no room, the other end is not told.
    ///
    /// - Blocks: never.
    /// - Source: SSL_shutdown(3).
    package func shutdownWriting() {
        guard isEstablished, fault == nil else { return }
        ErrorQueue.clear()
        _ = unsafe SSL_shutdown(pointer)
        ErrorQueue.clear()
    }

    /// The version: `TLSv1.3`.
    package var version: String { unsafe String(cString: SSL_get_version(pointer)) }

    /// The cipher, as OpenSSL calls it: `TLS_AES_256_GCM_SHA384`.
    package var cipher: String {
        unsafe String(cString: SSL_CIPHER_get_name(SSL_get_current_cipher(pointer)))
    }

    /// The owner of the other end's certificate, which was checked; nil if it has none.
    package var peerSubject: String? {
        guard let certificate = unsafe SSL_get1_peer_certificate(pointer) else { return nil }
        return unsafe Certificate(owning: certificate).subject
    }

    /// The need of a call that is to be made again; nil at the other end's end.
    ///
    /// - Throws: that the connection is of no use any more.
    private func need(after result: CInt, _ errno: CInt) throws(TLSError) -> Need? {
        switch unsafe SSL_get_error(pointer, result) {
        case SSL_ERROR_WANT_READ: return .readable
        case SSL_ERROR_WANT_WRITE: return .writable
        case SSL_ERROR_ZERO_RETURN: return nil
        case SSL_ERROR_SYSCALL:
            if errno == 0 { return nil }
            throw fail(.system(SystemError(operation: "TLS", errno: errno)))
        default:
            let error = ErrorQueue.take()
            let check = Int32(unsafe SSL_get_verify_result(pointer))
            let isChecked = !isEstablished && pin == nil
            guard isChecked, check != X509_V_OK, case .fault(let reason) = error else {
                throw fail(error)
            }
            let cause = unsafe String(cString: X509_verify_cert_error_string(Int(check)))
            throw fail(.fault("\(reason): \(cause)"))
        }
    }

    private func fail(_ error: TLSError) -> TLSError {
        fault = error
        return error
    }
}
