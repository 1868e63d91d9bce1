// SHA-256 of a secret. Files and memory have digests only: a secret of 256 random bits can't be
// found from its digest, so it needs neither salt nor a slow function.

internal import COpenSSL
internal import Kernel

/// The SHA-256 digest of a secret.
package struct SecretDigest: Sendable, Hashable {
    /// The length of a digest, and of the random bytes of a secret.
    package static let byteCount = 32

    private let bytes: [UInt8]

    /// The digest of a secret as a client sends it.
    package init(of secret: [UInt8]) { bytes = SHA256.digest(of: secret) }

    /// Reads 64 hexadecimal digits.
    package init?(hexadecimal text: String) {
        let digits = text.utf8.map { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 2 * Self.byteCount, !digits.contains(nil) else { return nil }
        bytes = stride(from: 0, to: digits.count, by: 2).map { index in
            UInt8((digits[index] ?? 0) << 4 | (digits[index + 1] ?? 0))
        }
    }

    package var hexadecimal: String { Hexadecimal.text(of: bytes) }

    /// Compares in a time that does not depend on the digests.
    package func isSame(as other: SecretDigest) -> Bool {
        var difference: UInt8 = 0
        for (one, another) in zip(bytes, other.bytes) { difference |= one ^ another }
        return difference == 0
    }
}

/// Secrets that the system makes.
enum Secret {
    /// A new secret: 256 random bits as 64 hexadecimal digits.
    ///
    /// - Throws: ENOSYS, where the kernel has no random numbers.
    static func make() throws(SystemError) -> String {
        Hexadecimal.text(of: try SystemRandom.bytes(SecretDigest.byteCount))
    }
}

/// Bytes as hexadecimal digits, in small letters.
enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    static func text(of bytes: [UInt8]) -> String {
        let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }
}

/// OpenSSL's SHA-256.
enum SHA256 {
    /// The 32 bytes of the digest.
    static func digest(of bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: SecretDigest.byteCount)
        let isDone = unsafe bytes.withUnsafeBytes { bytes in
            unsafe EVP_Digest(bytes.baseAddress, bytes.count, &digest, nil, EVP_sha256(), nil) == 1
        }
        require(isDone, "OpenSSL computes a SHA-256 digest")
        return digest
    }
}
