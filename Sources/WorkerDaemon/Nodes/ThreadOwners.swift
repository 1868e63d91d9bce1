// The daemons with one store work at the same time, and each thread or pool has one owner among
// them. This is what the service has to know of that; where it comes from is the store's business.

internal import Jobs
internal import Kernel

/// The owner of a thread or pool.
enum ThreadOwner: Equatable {
    /// This daemon.
    case here
    /// Another daemon that works.
    case node(StoreNode)
    /// None: a daemon is about to take the thread.
    case nobody
}

/// The threads that at least one of several nodes can run.
struct KnownThreads {
    /// The names of threads, pools and slots.
    let names: Set<String>
    /// The pools among them that are spread over slots.
    let spread: SpreadPools

    init(_ names: Set<String>) {
        self.names = names
        spread = SpreadPools(of: names)
    }
}

/// The owners of all threads, and the other nodes that work.
///
/// Confined to the service's loop.
protocol ThreadOwners: AnyObject {
    /// The secret by which other nodes prove, over their links, that they share the store.
    ///
    /// Made at random by each run of a daemon; the others read it as `StoreNode.linkSecret`.
    var linkSecret: String { get }

    /// Whether all nodes that work have looked since the secret was made.
    ///
    /// Until then they may have the one of this node's last run.
    var isLinkSecretKnown: Bool { get }

    /// The spread pools for which this node asks for slots of others, as on its card.
    var wanted: [String] { get }

    /// The other nodes that live and work, in any order.
    var others: [StoreNode] { get }

    /// The nodes that worked a moment ago and may soon work again, in any order.
    var missing: [StoreNode] { get }

    /// The threads, pools and slots in the configurations of this node, the others and the missing
    /// ones.
    var known: KnownThreads { get }

    /// The threads, pools and slots whose commands are executed here.
    var open: Set<String> { get }

    /// How many jobs wait for threads and pools that no node can run, as of a minute ago at most.
    var forsakenJobCounts: [String: Int] { get }

    /// Called on the loop's thread, in a pass of its own, when owners or nodes have changed.
    var whenChanged: (() -> Void)? { get set }

    /// Called on the loop's thread after each look at the other nodes.
    var whenLooked: (() -> Void)? { get set }

    /// Called on the loop's thread when `wanted` has changed: the card is to be shown anew.
    var whenWishChanged: (() -> Void)? { get set }

    /// Whether this node has given a thread, pool or slot away so recently that others may not know
    /// that yet.
    func hasJustGiven(_ unit: String) -> Bool

    /// The other nodes that have given something away, each with the moment from which commands for
    /// it do not go over that node any more.
    var recentGivers: [Int64: Instant] { get }

    /// The owner of a thread or pool.
    ///
    /// - Parameter group: the name of a thread, or of a whole pool.
    func owner(of group: String) -> ThreadOwner

    /// Finds out which thread or pool has the job of a number.
    ///
    /// - Parameter answer: called once on the loop's thread, in a later pass: with the thread's
    ///   name, nil if the store has no such job, or the reason why that is not known.
    func findThread(of id: JobID, answer: @escaping (Result<String?, StoreFault>) -> Void)

    /// Ends the looking for changes.
    func close()
}
