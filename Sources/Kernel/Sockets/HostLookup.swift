// The look-up of a host's name on a thread of its own: the C library has none that does not block.

internal import CLinux
internal import Glibc
internal import Synchronization

/// The look-up of the addresses of a host, which goes on by itself.
///
/// - Thread: any.
package final class HostLookup: Sendable {
    /// Why a host has no address.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let done = Latch()
    private let found = Mutex<Result<[String], Failure>?>(nil)

    /// Begins to look a name up.
    ///
    /// Its thread ends when the system has an answer.
    ///
    /// - Throws: EAGAIN when the system has no room for another thread.
    package init(_ name: String) throws(SystemError) {
        let (done, lookup) = (done, self)
        _ = try SystemThread(name: "lookup", stackByteCount: 256 << 10) {
            let result = Result { () throws(Failure) in try Self.addresses(of: name) }
            lookup.found.withLock { $0 = result }
            done.open()
        }
    }

    /// Whether there is an answer.
    package var isOver: Bool { done.isOpen }

    /// Waits for the addresses.
    ///
    /// - Returns: numeric addresses in the order in which they should be tried; nil if it takes
    ///   longer.
    /// - Throws: why there are none.
    /// - Blocks: until the limit.
    package func addresses(
        until limit: ContinuousClock.Instant
    ) throws(Failure) -> [String]? {
        guard done.wait(until: limit) else { return nil }
        return try found.withLock { $0 }?.get()
    }

    /// - Source: getaddrinfo(3), getnameinfo(3).
    private static func addresses(of name: String) throws(Failure) -> [String] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(name, nil, &hints, &first)
        guard code == 0 else {
            let reason = unsafe gai_strerror(code).map { unsafe String(cString: $0) }
            throw Failure(
                description: "can't look up the host \(name): \(reason ?? "error \(code)")")
        }
        defer { unsafe freeaddrinfo(first) }
        var addresses: [String] = []
        var next = unsafe first
        while let one = unsafe next {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let length = socklen_t(text.count)
            let isNamed = unsafe getnameinfo(
                one.pointee.ai_addr, one.pointee.ai_addrlen, &text, length, nil, 0, NI_NUMERICHOST)
            if isNamed == 0 {
                let bytes = text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
                addresses.append(String(decoding: bytes, as: UTF8.self))
            }
            unsafe next = one.pointee.ai_next
        }
        return addresses
    }
}
