// A database that several daemons share: the book of all jobs, the rows of threads and seats, and
// the sessions that have the locks of seats. Plain values where a real one has tables, changed
// by one transaction at a time.

package import Jobs

/// The tables and sessions of a server.
///
/// Confined to one thread. All moments are milliseconds of one clock.
package final class TwinDatabase {
    /// How a thread has come to its seat.
    package enum Moved: Int {
        /// Its daemon has its jobs.
        case not = 0
        /// Its jobs were handed over: each attempt is recorded.
        case handedOver = 1
        /// The daemon before may have begun jobs without a record.
        case takenOver = 2
    }

    package struct Place {
        package var seat: Int64
        package var moved: Moved
    }

    package struct Seat {
        package var epoch: Int64 = 0
        package var batch: Int64 = 0
        /// The mark of its daemon's file of attempts.
        package var mark: UInt64 = 0
        package var takenAt: Int64 = 0
        /// The session that has its lock.
        package var session: Int?
    }

    package struct Session {
        package let seat: Int64
        package fileprivate(set) var node: StoreNode
        package var heardAt: Int64
    }

    /// After how much silence the server ends a session.
    package static let sessionMilliseconds: Int64 = 4_000
    /// The numbers of a range.
    static let numberCount: UInt64 = 1_000_000

    package internal(set) var book = TwinBook()
    package internal(set) var threads: [String: Place] = [:]
    package internal(set) var seats: [Int64: Seat] = [:]
    package private(set) var sessions: [Int: Session] = [:]
    package private(set) var startedAt: Int64 = -3_600_000
    package internal(set) var now: Int64 = 0
    package let fault: SharingFault?
    /// Told the commands of each transaction that is committed, and the seat.
    package var whenCommitted: ([StoreCommand], Int64) -> Void = { _, _ in }
    var nextNumber: UInt64 = TwinDatabase.numberCount
    private var lastSeat: Int64 = 1
    private var lastSession = 0

    /// - Parameter fault: what it does wrongly.
    package init(_ fault: SharingFault? = nil) { self.fault = fault }

    // MARK: - Sessions

    func newSeat() -> Int64 {
        lastSeat += 1
        seats[lastSeat] = Seat()
        return lastSeat
    }

    /// Connects a daemon, and gives it the lock of its seat.
    func connect(_ node: StoreNode, to seat: Int64) -> Int {
        lastSession += 1
        sessions[lastSession] = Session(seat: seat, node: node, heardAt: now)
        seats[seat]?.session = lastSession
        seats[seat]?.takenAt = now
        return lastSession
    }

    /// Whether a session is there; then the server has heard from it.
    func hear(_ session: Int) -> Bool {
        guard sessions[session] != nil else { return false }
        sessions[session]?.heardAt = now
        return true
    }

    package func isThere(_ session: Int) -> Bool { sessions[session] != nil }

    package func end(_ session: Int) {
        guard let ended = sessions.removeValue(forKey: session) else { return }
        if seats[ended.seat]?.session == session { seats[ended.seat]?.session = nil }
    }

    /// It is so late now: silent sessions end.
    package func advance(to moment: Int64) {
        now = moment
        for (number, session) in sessions
        where session.heardAt + Self.sessionMilliseconds <= moment {
            end(number)
        }
    }

    /// The server starts anew: all sessions are over.
    package func restart() {
        for number in sessions.keys { end(number) }
        startedAt = now
    }

    /// A daemon asks for slots of these pools.
    func show(_ wanted: [String], of session: Int) { sessions[session]?.node.wanted = wanted }

    /// All daemons that are connected, and which has which thread.
    func nodes() -> StoreNodes {
        var nodes = StoreNodes(
            all: sessions.values.map(\.node).sorted { ($0.name, $0.id) < ($1.name, $1.id) })
        var places = ThreadPlaces()
        for (name, place) in threads {
            places.threads[name] = ThreadPlaces.Place(
                seat: place.seat, isTaken: place.moved == .not)
        }
        for (number, seat) in seats {
            places.seats[number] = ThreadPlaces.Seat(
                isHeld: seat.session != nil, wasTakenSince: seat.takenAt > startedAt)
        }
        places.isServerNew = SeatWatch.isNew(.milliseconds(now - startedAt))
        nodes.places = places
        return nodes
    }

    // MARK: - Moves

    /// Moves a thread; part of a transaction of one of its two seats.
    ///
    /// - Returns: whether the seat has given the thread away.
    func move(_ move: ThreadMove, by seat: Int64) -> Bool {
        if move.from == seat {
            if threads[move.thread]?.seat == seat, threads[move.thread]?.moved == .not {
                threads[move.thread] = Place(seat: move.to, moved: .handedOver)
            }
            return true
        }
        guard move.to == seat else { return false }
        if move.from > 1 {
            guard fault == .ignoresLock || seats[move.from]?.session == nil else { return false }
            if fault != .keepsEpoch { seats[move.from]?.epoch += 1 }
        }
        if move.from == 1 {
            // No row names it: it has never had an owner.
            if threads[move.thread] == nil {
                threads[move.thread] = Place(seat: seat, moved: .handedOver)
            }
        } else if let place = threads[move.thread], place.seat == move.from {
            let moved = place.moved == .not ? .takenOver : place.moved
            threads[move.thread] = Place(seat: seat, moved: moved)
        }
        return false
    }

    /// Moves the threads of a daemon's earlier run to its new seat, with the attempts of its file.
    ///
    /// - Returns: false if that run is not over, or has no thread.
    func takeEarlier(
        _ mark: UInt64, _ entries: [JobID: (attempt: Int, result: [UInt8]?)], by seat: Int64,
        unixMilliseconds: Int64
    ) -> Bool {
        guard
            let earlier = seats.keys.sorted().first(where: { number in
                seats[number]?.mark == mark && threads.values.contains { $0.seat == number }
            }),
            seats[earlier]?.session == nil
        else { return false }
        let names = threads.filter { $0.value.seat == earlier && $0.value.moved == .not }.keys
        for (id, entry) in entries.sorted(by: { $0.key < $1.key }) {
            guard let job = book.job(id), !job.state.isEnded,
                names.contains(ThreadGroup.name(of: job.slot))
            else { continue }
            if let result = entry.result {
                book.end(
                    id, Attempt(number: entry.attempt), .done(result), at: unixMilliseconds)
            } else if job.attempt < entry.attempt {
                book.start(
                    id,
                    Attempt(
                        number: entry.attempt, workerName: job.workerName,
                        startedAt: job.startedAt))
            }
        }
        seats[earlier]?.epoch += 1
        for (name, place) in threads where place.seat == earlier {
            let moved = place.moved == .not ? .handedOver : place.moved
            threads[name] = Place(seat: seat, moved: moved)
        }
        return true
    }

    /// The daemon of a seat ends in order: all its changes are in the tables.
    func giveBack(_ seat: Int64) {
        for (name, place) in threads where place.seat == seat {
            threads[name] = Place(seat: 0, moved: place.moved == .not ? .handedOver : place.moved)
        }
    }

    // MARK: - Numbers

    /// Takes a range of numbers, unless the present one is the latest.
    func takeNumbers(present: UInt64) -> UInt64 {
        if fault == .keepsNumbers, present > 0 { return present }
        if present > 0, nextNumber == present + Self.numberCount { return present }
        nextNumber += Self.numberCount
        return nextNumber - Self.numberCount
    }
}
