// The daemon's entry point.

import Glibc
import WorkerDaemon

exit(DaemonCommandLine.run(Array(CommandLine.arguments.dropFirst())))
