// The files of a server with TLS: what is refused, and which file is at fault.

import Kernel
import Support
import TLS
import Testing

@Suite struct `The files of a server with TLS` {
    private static func fault(
        _ certificate: [UInt8], _ key: [UInt8], _ authorities: [UInt8]? = nil
    ) -> String? {
        do throws(TLSFileError) {
            _ = try TLSContext(
                serving: .http,
                TLSContext.ServerFiles(
                    certificate: certificate, key: key, authorities: authorities))
            return nil
        } catch {
            return "\(error.part) \(error.reason)"
        }
    }

    @Test func `may be one file`() throws {
        let issued = try TestAuthority.shared().issue("server")
        let both = try contents(issued.key) + contents(issued.certificate)
        #expect(Self.fault(both, both) == nil)
    }

    @Test func `may have the certificates between the server's and its authority`() throws {
        let authority = try TestAuthority.shared()
        let issued = try authority.issue("server")
        let chain = try contents(issued.certificate) + contents(authority.certificate)
        #expect(try Self.fault(chain, contents(issued.key)) == nil)
    }

    @Test func `are refused by name`() throws {
        let authority = try TestAuthority.shared()
        let (issued, other) = (try authority.issue("server"), try authority.issue("other"))
        let (certificate, key) = (try contents(issued.certificate), try contents(issued.key))
        let nothing = Array("nothing\n".utf8)
        #expect(Self.fault(certificate, key) == nil)
        #expect(
            Self.fault(nothing, key)
                == "certificate has no certificate in PEM (-----BEGIN CERTIFICATE-----)")
        #expect(
            Self.fault(certificate, nothing)
                == "key has no private key in PEM (-----BEGIN PRIVATE KEY-----)")
        #expect(
            Self.fault(certificate, try contents(other.key))
                == "key does not belong to the certificate")
        let encrypted = Self.fault(certificate, try contents(authority.encrypt(issued.key)))
        #expect(encrypted?.hasPrefix("key is encrypted, and there is no password") == true)
        let broken = Self.fault(
            Array("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8), key)
        #expect(broken?.hasPrefix("certificate has a broken certificate (") == true)
        #expect(
            Self.fault(certificate, key, nothing)?.hasPrefix("authorities has no cert") == true)
    }

    @Test func `tell until when the certificate is valid`() throws {
        let authority = try TestAuthority.shared()
        let validity = try #require(
            TLSContext.testServer(try authority.issue("server")).validity)
        // After the issue, whose second is the first one of the certificate.
        let now = WallClock.unixMilliseconds() / 1_000
        #expect(validity.fault(atUnixSeconds: now) == nil)
        #expect(
            validity.fault(atUnixSeconds: now + 31 * 86_400) == "expired on \(validity.lastDay)")
        #expect(
            validity.fault(atUnixSeconds: now - 86_400)?.hasPrefix("is not valid before ") == true)
        let old = try TLSContext.testServer(try authority.issue("old", days: -1))
        #expect(old.validity?.fault(atUnixSeconds: now)?.hasPrefix("expired") == true)
    }
}
