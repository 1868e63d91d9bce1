// An item of a moving game, and what is noted of it.

import Glibc
import Kernel
import RunLoops
import Support

/// An item that is moved about.
struct MovedItem: Sendable {
    enum Kind: Sendable, Equatable, CaseIterable {
        case source
        /// Makes its moves as it enters a mode.
        case enteringSource
        /// Makes its moves as it leaves a mode.
        case leavingSource
        case port
        case watcher
        case timer
        case repeatingTimer
        case observer
        case onceObserver

        var isSource: Bool { self == .source || self == .enteringSource || self == .leavingSource }
    }

    let kind: Kind
    let item: ThreadRunLoop.Item
    let bell: Bell?
    /// Held by its callouts alone.
    let token: WeakReference<Token>
    /// The moves of its next call, or of the next mode that it enters or leaves.
    var moves: [Move]
    /// Whether its port listens to nothing.
    var isDeaf = false
    /// Whose it is: only that loop may be asked to take it.
    var owner: Int?
    /// Whose it was, the last one at the end.
    var owners: [Int] = []
    /// Requests to add it that have not been seen to be done.
    var pendingCount = 0
    var isLeaving = false
    /// Where it has to be at rest, in a calm game.
    var modes: [ThreadRunLoop.Mode] = []
    var isCommon = false
    var isInvalid = false
    /// Whether it was made invalid where nothing of it can be under way.
    var isDead = false
    var callCount = 0
    var callDepth = 0
    /// How often it has entered and not left each mode of each loop.
    var scheduled: [String: Int] = [:]
}

/// A descriptor that becomes ready when it is rung.
final class Bell: Sendable {
    private let pipe: Pipe

    init() throws { pipe = try Pipe() }

    var descriptor: CInt { pipe.readEnd.number }

    func ring() {
        var byte: UInt8 = 1
        _ = unsafe write(pipe.writeEnd.number, &byte, 1)
    }

    func silence() {
        var byte: UInt8 = 0
        while unsafe read(pipe.readEnd.number, &byte, 1) == 1 {}
    }
}
