// WorkerThreads
