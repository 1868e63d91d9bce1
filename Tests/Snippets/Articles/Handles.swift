// The samples of "A thread with a GPU context, an SQLite handle, an interpreter".

import RunLoops
import WorkerThreads

/// Stands for a wrapper around `sqlite3 *`.
private final class Database {
    private(set) var rows: [String] = []

    init(path: String) {}

    func insert(_ row: String) { rows.append(row) }

    deinit { print("closed on \(WorkerThread.currentName ?? "?")") }
}

func database() async throws {
    // sample: database
    let worker = try WorkerThread(name: "database")
    let database = try worker.submitAndWait {
        ThreadBound(Database(path: "/var/lib/app/app.sqlite"), to: .current)
    }

    try await worker.submit { database.value.insert("first") }
    let count = try await worker.submit {
        database.value.insert("second")
        return database.value.rows.count
    }
    print("\(count) rows")

    worker.stop(.finishQueued)
    worker.join()
    // end
}

/// Stands for one of several handles on the same file.
private final class Session {
    private(set) var rows: [String] = []

    init(path: String) {}

    func insert(_ row: String) { rows.append(row) }
}

func connections() async throws {
    // sample: connections
    let pool = try WorkerPool(name: "database", count: 2)
    let path = "/var/lib/app/app.sqlite"
    let handles = Dictionary(
        uniqueKeysWithValues: try pool.members.map { member in
            (
                member.name,
                try member.submitAndWait { ThreadBound(Session(path: path), to: .current) }
            )
        })

    /// The handle of the member that asks.
    @Sendable func handle() -> Session? { WorkerThread.currentName.flatMap { handles[$0]?.value } }

    let count = try await pool.submit {
        handle()?.insert("first")
        return handle()?.rows.count ?? 0
    }
    print("\(count) row")
    // end
    pool.stop(.finishQueued)
    pool.join()
}

func bound() throws {
    let worker = try WorkerThread(name: "database")
    let path = "/var/lib/app/app.sqlite"
    // sample: thread-bound
    let database = try worker.submitAndWait { ThreadBound(Database(path: path), to: .current) }
    try worker.post { database.value.insert("a row") }
    // end
    worker.stop(.finishQueued)
    worker.join()
}

/// Stands for a graphics context.
private final class Canvas {
    private(set) var frameCount = 0
    private var colour = "black"

    func drawFrame() { frameCount += 1 }

    func fill(_ colour: String) { self.colour = colour }

    func destroy() { print("\(frameCount) frames, the last one \(colour)") }
}

func canvas() async throws {
    // sample: canvas
    let worker = try WorkerThread(name: "canvas")
    let canvas = try worker.submitAndWait { ThreadBound(Canvas(), to: .current) }

    let frames = ThreadRunLoop.Timer(after: .zero, every: .milliseconds(16)) { timer in
        canvas.value.drawFrame()
        if canvas.value.frameCount == 3 { timer.invalidate() }
    }
    worker.runLoop.add(frames)
    try await worker.submit { canvas.value.fill("blue") }  // between two frames
    // end
    while frames.isValid { try await Task.sleep(for: .milliseconds(16)) }
    try await worker.submit { canvas.value.destroy() }
    worker.stop(.finishQueued)
    worker.join()
}

/// Stands for an embedded interpreter.
private final class Engine {
    private var variables: [String: Int] = [:]

    func evaluate(_ script: String) -> Int {
        variables[script, default: 0] += 1
        return variables[script] ?? 0
    }

    func shutDown() { shutDowns.continuation.yield(WorkerThread.currentName ?? "?") }
}

/// On which threads engines were shut down.
private let shutDowns = AsyncStream.makeStream(of: String.self)

// sample: interpreter
private actor Interpreter {
    private let thread: WorkerThread
    private var engine: Engine?

    init() throws {
        thread = try WorkerThread(name: "interpreter", stackByteCount: 64 << 20)
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.executor.asUnownedSerialExecutor()
    }

    func evaluate(_ script: String) -> Int {
        let engine = engine ?? Engine()  // made here, and so on the thread
        self.engine = engine
        return engine.evaluate(script)
    }

    isolated deinit {
        engine?.shutDown()  // on the thread, wherever the last reference went
    }
}
// end

func interpreter() async throws {
    do {
        let interpreter = try Interpreter()
        print(await interpreter.evaluate("count"))
        print(await interpreter.evaluate("count"))
    }
    for await name in shutDowns.stream {
        print("shut down on \(name)")
        break
    }
}
