// The few public types of the kernel's door that this module's functions take and return
// (`Instant`, `Readiness`, `SystemError`, `LoopClock`) belong to what its users see: they come with
// it.

@_exported public import Kernel
