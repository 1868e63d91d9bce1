// Something that another thread does to a machine's loop, at a moment that is known.

import Dispatch
import Foundation
import Support

/// An act of another thread for a player that waits for it, or sleeps meanwhile.
final class Errand {
    private let done = DispatchSemaphore(value: 0)
    /// Set while the loop may still go to sleep.
    private let isAhead = Flag()

    /// Sends another thread.
    ///
    /// - Parameter duringSleep: whether it waits until the loop sleeps: the machine's thread is
    ///   then about to sleep, and waits for the errand when it woke up.
    init(for machine: any Machine, duringSleep: Bool, _ act: @escaping (any Machine) -> Void) {
        let machine = Carried(value: machine)
        let act = Carried(value: { act(machine.value) })
        DispatchQueue.global().async { [done, isAhead] in
            while duringSleep && isAhead.isSet && !machine.value.isWaiting { sched_yield() }
            act.value()
            done.signal()
        }
    }

    /// Waits until it is done; the loop has woken up, if it has slept at all.
    func finish() {
        isAhead.clear()
        done.wait()
    }
}
