// Certificates and private keys in PEM, from bytes: no file is opened here.

internal import COpenSSL
internal import Glibc
package import Kernel

/// A certificate.
///
/// - Thread: one at a time.
@safe final class Certificate {
    let pointer: OpaquePointer

    /// Takes over a certificate of OpenSSL's.
    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe X509_free(pointer) }

    /// The certificates of a text in PEM, in its order; what else stands in it is passed over.
    ///
    /// - Throws: why one of them can't be read.
    static func all(inPEM bytes: [UInt8]) throws(TLSError) -> [Certificate] {
        ErrorQueue.clear()
        return try unsafe withReader(of: bytes) { (reader) throws(TLSError) in
            var found: [Certificate] = []
            while let pointer = unsafe PEM_read_bio_X509(reader, nil, nil, nil) {
                unsafe found.append(Certificate(owning: pointer))
            }
            let code = ERR_peek_last_error()
            let isEnd =
                ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE
            guard isEnd else { throw ErrorQueue.take() }
            ErrorQueue.clear()
            return found
        }
    }

    /// Its owner: `/O=Example/CN=jobs.lan`.
    var subject: String {
        var text = [CChar](repeating: 0, count: 256)
        let name = unsafe X509_get_subject_name(pointer)
        guard unsafe X509_NAME_oneline(name, &text, CInt(text.count)) != nil else { return "?" }
        return String(
            decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The SHA-256 digest of its DER form, in hexadecimal.
    var fingerprint: String {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: CUnsignedInt = 0
        let isDone = unsafe X509_digest(pointer, EVP_sha256(), &digest, &count) == 1
        require(isDone, "OpenSSL computes the digest of a certificate")
        return digest.prefix(Int(count)).map {
            String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
        }
        .joined()
    }

    /// From when on, and until when, it is valid.
    var validity: CertificateValidity? {
        guard let start = unsafe Self.moment(X509_get0_notBefore(pointer)),
            let end = unsafe Self.moment(X509_get0_notAfter(pointer))
        else { return nil }
        return CertificateValidity(start: start, end: end)
    }

    private static func moment(_ time: UnsafePointer<ASN1_TIME>?) -> CalendarTime? {
        var parts = unsafe tm()
        guard unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return CalendarTime(
            year: unsafe Int(parts.tm_year) + 1_900, month: unsafe Int(parts.tm_mon) + 1,
            day: unsafe Int(parts.tm_mday), hour: unsafe Int(parts.tm_hour),
            minute: unsafe Int(parts.tm_min), second: unsafe Int(parts.tm_sec))
    }
}

/// The time in which a certificate is valid, in UTC.
package struct CertificateValidity: Sendable, Equatable {
    package let start: CalendarTime
    package let end: CalendarTime

    /// Why it isn't valid at a moment; nil if it is.
    package func fault(atUnixSeconds now: Int64) -> String? {
        if let end = end.unixSeconds(offset: 0), now > end { return "expired on \(lastDay)" }
        if let start = start.unixSeconds(offset: 0), now < start {
            return "is not valid before \(day(self.start))"
        }
        return nil
    }

    /// An end within so many seconds is worth a warning: two weeks.
    package static let warningSeconds: Int64 = 14 * 86_400

    /// Why it isn't valid at a moment, or ends soon behind it; nil if neither.
    package func warning(atUnixSeconds now: Int64) -> String? {
        if let fault = fault(atUnixSeconds: now) { return fault }
        guard let end = end.unixSeconds(offset: 0), end - now < Self.warningSeconds else {
            return nil
        }
        return "expires on \(lastDay)"
    }

    /// The moment of its end, in seconds of Unix time.
    package var endUnixSeconds: Int64? { end.unixSeconds(offset: 0) }

    /// The day on which it ends: `2027-01-31`.
    package var lastDay: String { day(end) }

    private func day(_ time: CalendarTime) -> String {
        func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(time.year)-\(padded(time.month))-\(padded(time.day))"
    }
}

/// A private key.
///
/// - Thread: one at a time.
@safe final class PrivateKey {
    let pointer: OpaquePointer

    /// Reads the first private key of a text in PEM.
    ///
    /// - Throws: that it is encrypted, or that there is none.
    init(pem bytes: [UInt8]) throws(TLSFileError) {
        ErrorQueue.clear()
        var wantsPassword = false
        let found = try? unsafe withReader(of: bytes) { (reader) throws(TLSError) in
            unsafe PEM_read_bio_PrivateKey(
                reader, nil,
                { _, _, _, wantsPassword in
                    unsafe wantsPassword?.assumingMemoryBound(to: Bool.self).pointee = true
                    return -1
                }, &wantsPassword)
        }
        ErrorQueue.clear()
        guard let pointer = unsafe found ?? nil else {
            throw TLSFileError(
                part: .key,
                reason: wantsPassword
                    ? "is encrypted, and there is no password for it: "
                        + "openssl pkey -in ENCRYPTED -out KEY decrypts it"
                    : "has no private key in PEM (-----BEGIN PRIVATE KEY-----)")
        }
        unsafe self.pointer = pointer
    }

    deinit { unsafe EVP_PKEY_free(pointer) }
}

/// Calls `body` with a BIO that reads from bytes.
private func withReader<Result>(
    of bytes: [UInt8], _ body: (OpaquePointer) throws(TLSError) -> Result
) throws(TLSError) -> Result {
    try unsafe bytes.span.withUnsafeBytes { (bytes) throws(TLSError) -> Result in
        guard bytes.count <= Int(CInt.max),
            let reader = unsafe BIO_new_mem_buf(bytes.baseAddress, CInt(bytes.count))
        else { throw ErrorQueue.take() }
        defer { unsafe BIO_free(reader) }
        return try unsafe body(reader)
    }
}
