// The entry point of the command line client.

import Glibc

exit(Workerctl.run(Array(CommandLine.arguments.dropFirst())))
