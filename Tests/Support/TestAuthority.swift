// Certificates for tests, made by the command `openssl` when they are needed.

internal import Kernel

/// An authority that issues certificates, with the files in a directory of its own.
package final class TestAuthority: Sendable {
    /// The files of a certificate in PEM.
    package struct Issued: Sendable {
        package let certificate: String
        /// Its private key, with mode 0600.
        package let key: String
        /// Where the files are.
        fileprivate let directory: TestDirectory
    }

    private let directory: TestDirectory

    /// Makes an authority.
    package init() throws {
        directory = try TestDirectory()
        try Self.openssl(
            ["req", "-x509", "-subj", "/CN=a test's authority", "-days", "30"] + Self.newKey
                + ["-keyout", directory.file("ca.key"), "-out", certificate])
    }

    /// One authority for the tests of a process.
    package static func shared() throws -> TestAuthority { try made.get() }

    private static let made = Result { try TestAuthority() }

    /// The file with its own certificate.
    package var certificate: String { directory.file("ca.pem") }

    /// Issues a certificate.
    ///
    /// - Parameters:
    ///   - subject: its owner, also the beginning of its files' names.
    ///   - names: the names and addresses that it is for.
    ///   - days: how long it is valid; -1 for one that expired yesterday.
    package func issue(
        _ subject: String, for names: String = "DNS:localhost,IP:127.0.0.1", days: Int = 30
    ) throws -> Issued {
        let stem = "\(subject)-\(UInt32.random(in: .min ... .max))"
        let (request, key) = (directory.file("\(stem).csr"), directory.file("\(stem).key"))
        let certificate = directory.file("\(stem).pem")
        try Self.openssl(
            ["req", "-subj", "/CN=\(subject)", "-addext", "subjectAltName=\(names)"]
                + Self.newKey + ["-keyout", key, "-out", request])
        try Self.openssl([
            "x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey",
            directory.file("ca.key"), "-set_serial", "\(UInt32.random(in: 1 ... .max))",
            "-days", "\(days)", "-copy_extensions", "copy", "-out", certificate,
        ])
        return Issued(certificate: certificate, key: key, directory: directory)
    }

    /// A copy of a private key that is encrypted with a password.
    package func encrypt(_ key: String) throws -> String {
        let path = "\(key).encrypted"
        try Self.openssl([
            "pkey", "-in", key, "-aes256", "-passout", "pass:secret", "-out", path,
        ])
        try File.setMode(0o600, of: path)
        return path
    }

    private static let newKey = [
        "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
    ]

    private static func openssl(_ arguments: [String]) throws {
        let run = try ProgramRun("/usr/bin/openssl", arguments)
        guard run.status == .exited(0) else {
            throw Unexpected("openssl \(arguments.joined(separator: " ")): \(run.output)")
        }
    }
}
