// The samples of "An actor on a thread".

import Glibc
import RunLoops
import WorkerThreads

// sample: thermostat
actor Thermostat {
    private let thread: WorkerThread
    private var readings: [Int] = []

    init(on thread: WorkerThread) { self.thread = thread }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.executor.asUnownedSerialExecutor()
    }

    /// Reads the sensor every five milliseconds, on the thread.
    func start() {
        let timer = ThreadRunLoop.Timer(after: .zero, every: .milliseconds(5)) {
            [weak self] timer in
            guard let self else { return timer.invalidate() }
            self.assumeIsolated { $0.read() }  // no hop: the timer fires on the actor's thread
        }
        thread.runLoop.add(timer)
    }

    var latest: Int? { readings.last }

    private func read() { readings.append(21) }
}
// end

func thermostat() async throws {
    let thread = try WorkerThread(name: "sensor")
    let thermostat = Thermostat(on: thread)
    await thermostat.start()
    while await thermostat.latest == nil { try await Task.sleep(for: .milliseconds(1)) }
    print(await thermostat.latest ?? 0)
    thread.stop(.finishQueued)
    thread.join()
}

func task() async throws {
    // sample: task
    let thread = try WorkerThread(name: "tasks")
    let task = Task(executorPreference: thread.executor) {
        let before = WorkerThread.currentName ?? "?"
        await Task.yield()
        return "\(before), then \(WorkerThread.currentName ?? "?")"
    }
    print(await task.value)
    thread.stop(.finishQueued)
    thread.join()
    // end
}

// sample: global-actor
@globalActor actor Catalogue {
    static let shared = Catalogue()
    private let thread: WorkerThread

    init() {
        do {
            thread = try WorkerThread(name: "catalogue")
        } catch {
            fatalError("the catalogue has no thread: \(error)")
        }
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.executor.asUnownedSerialExecutor()
    }
}

@Catalogue final class Shelf {
    private var titles: [String] = []

    nonisolated init() {}

    func add(_ title: String) -> String {
        titles.append(title)
        return "\(titles.count) on \(WorkerThread.currentName ?? "?")"
    }
}
// end

func globalActor() async {
    let shelf = Shelf()
    // sample: global-actor-use
    print(await shelf.add("Run loops"))
    print(await shelf.add("Threads"))
    // end
}

// sample: main-actor
@MainActor final class Clock {
    private(set) var ticks = 0

    func start() {
        let timer = ThreadRunLoop.Timer(after: .zero, every: .seconds(1)) { [weak self] timer in
            guard let self else { return timer.invalidate() }
            MainActor.assumeIsolated { self.tick() }  // no hop: it fires on the main thread
        }
        ThreadRunLoop.main.add(timer)
    }

    private func tick() { ticks += 1 }
}
// end
