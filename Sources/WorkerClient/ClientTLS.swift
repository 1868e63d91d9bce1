// How a client encrypts its connections, and which servers it trusts then.

internal import Kernel
internal import TLS

/// TLS of a client: the files are in PEM, and are read for each connection.
public struct ClientTLS: Sendable, Hashable {
    /// The file with the authorities that the daemon's certificate may come from.
    ///
    /// Nil for those of this machine, which the variable `SSL_CERT_FILE` can replace.
    public var authorities: String?
    /// The name in the daemon's certificate; nil if it is the host of the address.
    public var serverName: String?
    /// The file with the client's own certificate; nil for none.
    public var certificate: String?
    /// The file with its private key; nil if that is in `certificate` too.
    public var key: String?

    /// Settings that suit a daemon whose certificate this machine trusts.
    public init(
        authorities: String? = nil, serverName: String? = nil, certificate: String? = nil,
        key: String? = nil
    ) {
        self.authorities = authorities
        self.serverName = serverName
        self.certificate = certificate
        self.key = key
    }

    private static let byteCountMax = 4 << 20

    /// The settings as a connection takes them.
    ///
    /// - Throws: `.notConnected`, with the file at fault.
    /// - Blocks: for the disk.
    func context(for address: WorkerAddress) throws(WorkerClientError) -> TLSContext {
        let authorities = try contents(authorities, address)
        let certificate = try contents(certificate, address)
        let key = try contents(key, address) ?? certificate
        let identity = certificate.flatMap { certificate in key.map { (certificate, $0) } }
        do throws(TLSFileError) {
            return try TLSContext(trusting: authorities, identity: identity)
        } catch {
            let file =
                switch error.part {
                case .authorities: self.authorities
                case .certificate: self.certificate
                case .key: self.key ?? self.certificate
                }
            throw .notConnected(
                address: address.description, reason: "\(file ?? "a file") \(error.reason)",
                advice: "a file in PEM is needed")
        }
    }

    private func contents(
        _ path: String?, _ address: WorkerAddress
    ) throws(WorkerClientError) -> [UInt8]? {
        guard let path else { return nil }
        do throws(SystemError) {
            return try File.read(path, atMost: Self.byteCountMax)
        } catch {
            throw .notConnected(
                address: address.description, reason: "\(path): \(error.reason)",
                advice: "a file in PEM that you may read is needed")
        }
    }
}
