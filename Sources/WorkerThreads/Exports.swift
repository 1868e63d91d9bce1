// `import WorkerThreads` is enough: its public functions take and return loops, timers, instants
// and system errors, which come with it. RunLoops re-exports the kernel's public types itself.

@_exported public import RunLoops
