// Threads with an owner (`TAKE … OWN thread`): only this worker gets the worker jobs of such a
// thread. The ownership belongs to a connection. Others that ask for the thread are
// its standbys: it passes on to the one that has waited longest once the owner's connection has
// closed and its last delivery there is over.

internal import Jobs
internal import RESP
internal import WorkerThreads

extension WorkerExchange {
    /// Notes which thread a connection asks for with its latest TAKE; nil for none.
    func own(_ thread: String?, _ worker: Worker) {
        for (name, owner) in owners where owner === worker && name != thread { passOn(name) }
        if let thread, owners[thread] == nil { owners[thread] = worker }
    }

    /// Whether a worker owns a thread of a group: it waits for jobs at this daemon.
    func hasOwner(ofThreadIn group: String) -> Bool {
        owners.keys.contains { ThreadGroup.name(of: $0) == group }
    }

    /// The wire's entries for a thread with an owner.
    func ownerEntries(of member: WorkerGroup.Member) -> [RESPValue.Entry] {
        guard let owner = owners[member.name] else { return [] }
        return [entry("owner", text(owner.name ?? owner.client.map { "client \($0)" } ?? "?"))]
    }

    /// Whether a TAKE may have a job, as far as threads are owned.
    func mayHave(_ remote: RemoteJob, _ taker: Taker) -> Bool {
        mayHave(jobsOf: remote.member, taker)
    }

    private func mayHave(jobsOf member: WorkerGroup.Member, _ taker: Taker) -> Bool {
        let owner = owners.isEmpty ? nil : owners[member.name]
        guard let own = taker.request.own else { return owner == nil }
        return own === member && owner === taker.worker
    }

    /// The places of the threads of a pool on which no worker that waits may have a job.
    ///
    /// The pool gives the job to another thread, if it can: there the job would wait for the
    /// thread's owner.
    ///
    /// - Complexity: O(threads × workers that wait) if a thread of the pool has an owner.
    func placesToAvoid(for context: JobContext) -> Set<Int> {
        let members = context.group.members
        guard !owners.isEmpty, members.count > 1, inherited[JobID(context.id)] == nil,
            context.details.thread == context.group.name,
            hasOwner(ofThreadIn: context.group.name)
        else { return [] }
        let asking = takers.filter { $0.request.selectors.contains(context.selector) }
        return Set(
            members.indices.filter { place in
                !asking.contains {
                    $0.mayTouch(jobsOf: members[place], context.selector)
                        && mayHave(jobsOf: members[place], $0)
                }
            })
    }

    /// Passes a thread on whose owner asks for it no more, or has gone and ended its job there.
    func passOn(_ thread: String) {
        guard let owner = owners[thread] else { return }
        let isConnected = owner.client.map { workers[$0] === owner && door?.isGone($0) == false }
        guard isConnected != true || owner.ownThread != thread else { return }
        let holds = deliveries.values.contains {
            $0.worker === owner && $0.remote.member.name == thread
        }
        guard !holds else { return }
        owners[thread] = takers.first { $0.request.own?.name == thread }?.worker
        match()
    }
}
