// WorkerDaemonTests
