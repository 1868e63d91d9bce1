// A key that items of a pool share if they have to be run one after another.

internal import Structures
internal import Synchronization

/// Names what items have in common whose order counts: a customer, an order, a file.
///
/// Items of a pool that are submitted with the same key run on the same thread, in their order, as
/// long as one of them waits or runs; other keys go to the threads that have the least to do. A key
/// is any bytes, or a text: `key: "customer 17"`.
public struct SubmitKey: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// Any bytes.
    public let bytes: [UInt8]

    /// A key of these bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// A key of this text in UTF-8.
    public init(_ text: String) { bytes = Array(text.utf8) }

    /// A key of this text in UTF-8.
    public init(stringLiteral text: String) { self.init(text) }

    /// The bytes as text; those that are no UTF-8 become U+FFFD.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}

/// A request with a key, which counts as one of its key's until it has run or was refused.
final class KeyedPerform: CancellableRequest, @unchecked Sendable {
    // SAFETY: as `CancellableRequest` says; what it adds never changes.
    private let request: PerformRequest
    private let key: SubmitKey
    private let queues: PoolQueues

    init(_ request: consuming PerformRequest, key: SubmitKey, queues: PoolQueues) {
        self.request = request
        self.key = key
        self.queues = queues
        super.init(isArmed: true)
    }

    override var isAwaited: Bool { request.isAwaited }

    override var isDecided: Bool { request.isDecided }

    override func run() {
        request.perform()
        queues.board.withLock { $0.unbind(key) }
    }

    override func refuse(_ error: SubmitError) -> Bool {
        queues.board.withLock { $0.unbind(key) }
        return request.refuse(error)
    }
}
