// Ports for tests that name one before anybody listens there.

package import Kernel

/// A port of a loopback address at which nobody listens.
///
/// It is below those from which the kernel takes one for whoever connects: such a one could be
/// taken again before the test is at it.
///
/// - Parameter host: where; nil for an address of the test's own.
package func freePort(at host: String? = nil) throws -> TCPAddress {
    let parts = (0..<3).map { _ in Int.random(in: 1...254) }
    let host = host ?? "127.\(parts[0]).\(parts[1]).\(parts[2])"
    for _ in 1...1_000 {
        let address = try TCPAddress("\(host):\(Int.random(in: 10_000...30_000))")
        if (try? Listener(at: .tcp(address))) != nil { return address }
    }
    throw Unexpected("no port is free at \(host)")
}
