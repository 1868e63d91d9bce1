// Faults of TLS, in words for people: on a connection, or with the files that a server
// needs.

internal import COpenSSL
package import Kernel

/// Why a connection with TLS is of no use.
package enum TLSError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A system call below TLS failed.
    case system(SystemError)
    /// The other end hung up during the handshake.
    case hungUp
    /// The other end speaks no TLS.
    case plaintext
    /// The server has another certificate than the one of this fingerprint, which was expected.
    case otherCertificate(fingerprint: String)
    /// Another reason, as OpenSSL calls it.
    case fault(String)

    package var description: String {
        switch self {
        case .system(let error): error.description
        case .hungUp: "the other end hung up during the TLS handshake"
        case .plaintext: "plaintext came, and no TLS"
        case .otherCertificate(let found): "the server has another certificate, SHA-256 \(found)"
        case .fault(let reason): "TLS: \(reason)"
        }
    }
}

/// Why a file with a certificate or a key is of no use.
package struct TLSFileError: Error, Equatable, Sendable {
    /// The file at fault.
    package enum Part: Sendable {
        case certificate
        case key
        case authorities
    }

    package let part: Part
    /// The end of a sentence that begins with the file's name: `has no certificate`.
    package let reason: String
}

/// The errors that OpenSSL has left on the calling thread.
enum ErrorQueue {
    /// Forgets earlier errors: the next call's are told apart from them so.
    static func clear() { ERR_clear_error() }

    /// Takes the first error, which is the cause of later ones, and forgets these.
    static func take() -> TLSError {
        let code = ERR_get_error()
        defer { clear() }
        return Self.plaintextReasons.contains(ERR_GET_REASON(code))
            && ERR_GET_LIB(code) == ERR_LIB_SSL
            ? .plaintext : .fault(text(of: code))
    }

    /// OpenSSL's words for an error: `no shared cipher`.
    static func text(of code: UInt) -> String {
        guard let reason = unsafe ERR_reason_error_string(code) else { return "error \(code)" }
        return unsafe String(cString: reason)
    }

    private static let plaintextReasons = [
        SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST, SSL_R_WRONG_VERSION_NUMBER,
    ]
}
