// WorkerClient
