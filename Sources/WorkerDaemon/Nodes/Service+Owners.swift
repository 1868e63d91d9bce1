// The service's knowledge of the other nodes: the threads that there are, and the owner of each.

internal import Jobs

extension Service {
    /// The name of this node.
    var nodeName: String { configuration.nodeCard.name }

    /// Hears of changes from now on.
    func followOwners() {
        owners?.whenChanged = { [unowned self] in
            guard let owners else { return }
            recentOwnThread = []
            let nodes = owners.others
            for session in Array(sessions.values) { session.links?.ownersChanged(nodes) }
            driver.live?.touched()
            linkWatch?.nodesChanged(nodes)
        }
    }

    /// The owner of a thread, a pool, its member or slot; nil if this node has all threads.
    func owner(ofThread name: String) -> ThreadOwner? {
        owners?.owner(of: PoolSlot.stored(ThreadGroup.name(of: name)))
    }

    /// Whether clients may name a thread, pool or member: this node or another one has it, or jobs
    /// of it.
    func isThread(_ name: String) -> Bool {
        !PoolSlot.isOne(name) && (driver.scheduler.isKnown(name) || isElsewhere(name))
    }

    /// Whether another node that works has a thread, pool, member or slot in its configuration, and
    /// this one has not.
    func isElsewhere(_ name: String) -> Bool {
        let unit = PoolSlot.stored(ThreadGroup.name(of: name))
        return (try? driver.group(of: unit)) == nil && owners?.known.names.contains(unit) == true
    }

    /// The pools that are spread over slots, at this node or another one.
    var spread: SpreadPools { owners?.known.spread ?? driver.spread }

    /// Whether a thread or pool is one of several nodes.
    func isOfSpreadPool(_ name: String) -> Bool {
        spread.count(of: ThreadGroup.name(of: PoolSlot.shown(name))) > 1
    }
}
