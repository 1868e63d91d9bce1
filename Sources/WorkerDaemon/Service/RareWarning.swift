// A warning that a client can cause at will: the log has one line of it a minute.

package import RunLoops

/// Counts an event and logs it at most once a minute.
///
/// Confined to its loop's thread.
package final class RareWarning {
    private let loop: ThreadRunLoop
    private let log: Log
    private let text: (_ count: Int, _ peer: String) -> String
    private var isQuiet = false
    private var count = 0
    private var lastPeer = ""

    /// Often enough to see an attack, rare enough to leave the log readable.
    private static let pause = Duration.seconds(60)

    /// - Parameter text: the line about so many events, the last one of this peer.
    package init(
        on loop: ThreadRunLoop, _ log: Log,
        _ text: @escaping (_ count: Int, _ peer: String) -> String
    ) {
        self.loop = loop
        self.log = log
        self.text = text
    }

    /// Logs the first event at once, and later ones together at the minute's end.
    package func happened(from peer: String) {
        count += 1
        lastPeer = peer
        if !isQuiet { write() }
    }

    private func write() {
        log.warning(text(count, lastPeer))
        count = 0
        isQuiet = true
        let warning = Confined(self, to: loop)
        let timer = ThreadRunLoop.Timer(at: loop.now.advanced(by: Self.pause)) { _ in
            warning.value.isQuiet = false
            if warning.value.count > 0 { warning.value.write() }
        }
        loop.add(timer)
    }
}
