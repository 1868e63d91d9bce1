// The settings of many connections: certificate and key, whom they trust, versions. Made from
// bytes: no file is opened here. A context knows neither sockets nor protocols.

internal import COpenSSL

/// The settings of connections with TLS.
///
/// TLS 1.2 or newer, with forward secrecy and without renegotiation. A connection keeps the context
/// that it was made with, so a new certificate is a new context.
///
/// - Thread: any thread.
@safe package final class TLSContext: @unchecked Sendable {
    // SAFETY: the initialisers set both up. Afterwards they are only handed to OpenSSL, whose
    // contexts and methods any number of threads may use at a time.
    let pointer: OpaquePointer
    let socketMethod: OpaquePointer

    /// The time in which the server's certificate is valid; nil of a client.
    package let validity: CertificateValidity?
    /// The SHA-256 digest of the server's certificate, in hexadecimal; nil of a client.
    package let fingerprint: String?

    /// For version 1.2; those of 1.3 are all fine.
    private static let ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20"
    /// Tickets are for servers of the same settings only.
    private static let sessionContext = Array("workerd".utf8)

    /// The protocol that clients may ask for by ALPN (RFC 7301); another one ends the handshake.
    ///
    /// So no browser is led to a door that is not for it (ALPACA).
    package enum ApplicationProtocol: Sendable {
        case http
        case redis

        /// As it goes over the wire: its length, then its name.
        fileprivate var name: StaticString {
            switch self {
            case .http: "\u{8}http/1.1"
            case .redis: "\u{5}redis"
            }
        }
    }

    /// The material of a server's context: the content of files in PEM.
    package struct ServerFiles: Sendable, Equatable {
        /// The server's certificate, and those between it and its authority.
        package var certificate: [UInt8]
        package var key: [UInt8]
        /// The authorities of clients; nil if clients have no certificate.
        package var authorities: [UInt8]?
        /// Whether a client without a certificate is refused.
        package var requiresClient: Bool

        package init(
            certificate: [UInt8], key: [UInt8], authorities: [UInt8]? = nil,
            requiresClient: Bool = false
        ) {
            self.certificate = certificate
            self.key = key
            self.authorities = authorities
            self.requiresClient = requiresClient
        }
    }

    /// For the server's end of connections.
    ///
    /// - Throws: which file is of no use, and why.
    package init(
        serving application: ApplicationProtocol, _ files: ServerFiles
    ) throws(TLSFileError) {
        let chain = try Self.certificates(files.certificate, .certificate)
        let key = try PrivateKey(pem: files.key)
        unsafe (pointer, socketMethod) = Self.make(TLS_server_method())
        validity = chain[0].validity
        fingerprint = chain[0].fingerprint
        try use(chain, key)
        unsafe copenssl_keep_no_sessions(pointer)
        unsafe SSL_CTX_set_session_id_context(
            pointer, Self.sessionContext, UInt32(Self.sessionContext.count))
        select(application)
        guard let authorities = files.authorities else { return }
        try trust(authorities)
        let required = files.requiresClient ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0
        unsafe SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | required, nil)
    }

    /// For the client's end of connections to servers that are known by their certificates.
    ///
    /// It trusts no authority and has no certificate of its own.
    package init() {
        unsafe (pointer, socketMethod) = Self.make(TLS_client_method())
        validity = nil
        fingerprint = nil
        unsafe SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
    }

    /// The same, with a certificate of its own.
    ///
    /// - Parameter identity: the client's certificate and key in PEM.
    /// - Throws: which of them is of no use, and why.
    package convenience init(
        identity: (certificate: [UInt8], key: [UInt8])
    ) throws(TLSFileError) {
        let chain = try Self.certificates(identity.certificate, .certificate)
        let key = try PrivateKey(pem: identity.key)
        self.init()
        try use(chain, key)
    }

    /// For the client's end of connections.
    ///
    /// - Parameters:
    ///   - authorities: trusted certificates in PEM; nil for those of this machine.
    ///   - identity: the client's own certificate and key in PEM; nil for none.
    /// - Throws: which of them is of no use, and why.
    package convenience init(
        trusting authorities: [UInt8]?, identity: (certificate: [UInt8], key: [UInt8])? = nil
    ) throws(TLSFileError) {
        if let identity { try self.init(identity: identity) } else { self.init() }
        if let authorities {
            try trust(authorities)
        } else {
            unsafe SSL_CTX_set_default_verify_paths(pointer)
        }
    }

    deinit {
        unsafe SSL_CTX_free(pointer)
        unsafe BIO_meth_free(socketMethod)
    }

    private static func make(_ method: OpaquePointer?) -> (OpaquePointer, OpaquePointer) {
        guard let pointer = unsafe SSL_CTX_new(method),
            let socketMethod = unsafe copenssl_make_socket_method()
        else { fatalError("OpenSSL has no memory for a context") }
        unsafe copenssl_set_modes(pointer)
        unsafe copenssl_set_options(pointer)
        unsafe copenssl_read_ahead(pointer)
        let isSet =
            unsafe copenssl_set_oldest_version(pointer, TLS1_2_VERSION) == 1
            && SSL_CTX_set_cipher_list(pointer, ciphers) == 1
        guard isSet else { fatalError("OpenSSL has neither TLS 1.2 nor its ciphers") }
        return unsafe (pointer, socketMethod)
    }

    private static func certificates(
        _ pem: [UInt8], _ part: TLSFileError.Part
    ) throws(TLSFileError) -> [Certificate] {
        let found: [Certificate]
        do throws(TLSError) {
            found = try Certificate.all(inPEM: pem)
        } catch {
            throw TLSFileError(part: part, reason: "has a broken certificate (\(error))")
        }
        guard !found.isEmpty else {
            throw TLSFileError(
                part: part, reason: "has no certificate in PEM (-----BEGIN CERTIFICATE-----)")
        }
        return found
    }

    private static func refused(_ part: TLSFileError.Part) -> TLSFileError {
        TLSFileError(
            part: part, reason: "has a certificate that OpenSSL refuses (\(ErrorQueue.take()))")
    }

    private func use(_ chain: [Certificate], _ key: PrivateKey) throws(TLSFileError) {
        ErrorQueue.clear()
        guard unsafe SSL_CTX_use_certificate(pointer, chain[0].pointer) == 1 else {
            throw Self.refused(.certificate)
        }
        for certificate in chain.dropFirst() {
            guard unsafe copenssl_add_chain_certificate(pointer, certificate.pointer) == 1 else {
                throw Self.refused(.certificate)
            }
        }
        guard unsafe SSL_CTX_use_PrivateKey(pointer, key.pointer) == 1,
            unsafe SSL_CTX_check_private_key(pointer) == 1
        else {
            ErrorQueue.clear()
            throw TLSFileError(part: .key, reason: "does not belong to the certificate")
        }
    }

    /// Trusts these authorities, and no others.
    private func trust(_ pem: [UInt8]) throws(TLSFileError) {
        let store = unsafe SSL_CTX_get_cert_store(pointer)
        for certificate in try Self.certificates(pem, .authorities) {
            ErrorQueue.clear()
            guard unsafe X509_STORE_add_cert(store, certificate.pointer) == 1,
                unsafe SSL_CTX_add_client_CA(pointer, certificate.pointer) == 1
            else {
                throw Self.refused(.authorities)
            }
        }
    }

    private func select(_ application: ApplicationProtocol) {
        // The text is in the program itself, and stays.
        let name = unsafe UnsafeMutablePointer(mutating: application.name.utf8Start)
        unsafe SSL_CTX_set_alpn_select_cb(
            pointer,
            { _, chosen, chosenCount, offered, offeredCount, argument in
                guard let own = unsafe argument?.assumingMemoryBound(to: UInt8.self) else {
                    return SSL_TLSEXT_ERR_NOACK
                }
                var found: UnsafeMutablePointer<UInt8>?
                let outcome = unsafe SSL_select_next_proto(
                    &found, chosenCount, own, UInt32(own.pointee) + 1, offered, offeredCount)
                guard outcome == OPENSSL_NPN_NEGOTIATED else {
                    return SSL_TLSEXT_ERR_ALERT_FATAL
                }
                unsafe chosen?.pointee = UnsafePointer(found)
                return SSL_TLSEXT_ERR_OK
            }, name)
    }
}
