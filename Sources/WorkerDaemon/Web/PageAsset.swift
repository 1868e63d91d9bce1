// The page for people: its files, as they are embedded in the program. They contain no data, so
// they are served without a key.

internal import CPage
internal import HTTP

/// A file of the page.
struct PageAsset: Sendable {
    /// Its path, such as `/main.js`.
    let path: String
    let contentType: String
    let bytes: [UInt8]
    /// The entity tag (RFC 9110, section 8.8.3): another content has another tag.
    let entityTag: String

    /// All files, in the order in which they are embedded.
    static let all: [PageAsset] = (0..<page_asset_count()).map { index in
        let asset = unsafe page_asset_at(index)
        let bytes = unsafe Array(UnsafeBufferPointer(start: asset.bytes, count: asset.byte_count))
        return PageAsset(
            path: unsafe String(cString: asset.path),
            contentType: unsafe String(cString: asset.content_type),
            bytes: bytes, entityTag: tag(of: bytes))
    }

    /// The fields of every response with a file.
    ///
    /// Scripts and style sheets come from this server only, and scripts cannot turn text into
    /// markup.
    static let fields: ResponseHead.Fields = [
        ("Cache-Control", "no-cache"), ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin"),
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                + "img-src 'self' data:; base-uri 'none'; form-action 'none'; "
                + "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
        ),
    ]

    private static func tag(of bytes: [UInt8]) -> String {
        // FNV-1a of 64 bits: it tells versions of our own files apart.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return "\"\(String(hash, radix: 16))\""
    }
}

extension Session {
    /// Answers with a file, or tells a browser that the one it has is the same.
    func answer(_ head: RequestHead, _ asset: PageAsset) {
        let isKnown = head.text(of: "if-none-match") == asset.entityTag
        let status = isKnown ? HTTPStatus.notModified : .ok
        var call = HTTPCall(head, .text(status, asset.contentType))
        call.fields = PageAsset.fields + [("ETag", asset.entityTag)]
        call.isData = false
        conversation?.next = .call(call)
        fill(reserve(), encoded: isKnown ? [] : asset.bytes)
    }
}
