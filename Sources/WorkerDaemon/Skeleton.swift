// WorkerDaemon
