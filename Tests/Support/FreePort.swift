// Ports for tests that name one before a server listens there.

package import Kernel

/// A free port of a loopback address.
///
/// It is below the kernel's ports for outgoing connections: such a port could be taken again before
/// the test uses it.
///
/// - Parameter host: the address; nil for one of the test's own.
package func freePort(at host: String? = nil) throws -> TCPAddress {
    guard let host else {
        // The address is random enough to be free. A try would open the port, and a program that
        // another test starts could keep it open for a moment.
        let parts = (0..<3).map { _ in Int.random(in: 1...254) }
        let port = Int.random(in: 10_000...30_000)
        return try TCPAddress("127.\(parts[0]).\(parts[1]).\(parts[2]):\(port)")
    }
    for _ in 1...1_000 {
        let address = try TCPAddress("\(host):\(Int.random(in: 10_000...30_000))")
        if (try? Listener(at: .tcp(address))) != nil { return address }
    }
    throw Unexpected("no port is free at \(host)")
}
