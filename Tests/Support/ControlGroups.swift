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

/// Whether control groups in the group of this process can limit memory.
///
/// Mostly they can't: a group with processes hands out no controllers, unless it is the root. The
/// kernel that `Scripts/control-groups` starts has the tests in the root group.
package let canLimitMemory: Bool = {
    guard canMakeControlGroups, let own = ControlGroup.own(),
        own.controllers.contains("memory")
    else { return false }
    if !own.enabledControllers.contains("memory") {
        try? own.write("+memory", to: "cgroup.subtree_control")
    }
    return own.enabledControllers.contains("memory")
}()
