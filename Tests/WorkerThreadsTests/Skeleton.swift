// WorkerThreadsTests
