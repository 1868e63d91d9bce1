// A test that imports the kit can name what the kit is about: loops and worker threads come with
// it.

@_exported public import RunLoops
@_exported public import WorkerThreads
