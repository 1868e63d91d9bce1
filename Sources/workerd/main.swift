// The daemon's entry point.

import Glibc
import Memory
import WorkerDaemon

Allocator.link()
exit(DaemonCommandLine.run(Array(CommandLine.arguments.dropFirst())))
