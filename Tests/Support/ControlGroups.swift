// Whether this machine lets a test make control groups.

import Kernel

/// Whether control groups can be made in the group of this process, as by root on most machines.
package let canMakeControlGroups: Bool = {
    let name = "tests-probe-\(ProcessStatistics.processID)"
    guard let group = ControlGroup.own()?.child(name), (try? group.make()) != nil else {
        return false
    }
    defer { try? group.remove() }
    return group.isThere
}()
