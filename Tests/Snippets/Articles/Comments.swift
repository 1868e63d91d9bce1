// The samples of comments on single declarations.

import RunLoops
import WorkerThreads

final class Page {
    let name: String
    init(_ name: String) { self.name = name }
    deinit { print("page \(name) is gone") }
}

func releasePool() {
    let loop = ThreadRunLoop.current
    loop.perform {
        // sample: release-pool
        let page = ReleasePool.autorelease(Page("1"))  // gone when this pass is over
        ReleasePool.with {  // or earlier: when the scope is over
            for name in ["2", "3"] { ReleasePool.autorelease(Page(name)) }
        }
        // end
        print("page \(page.name) is there")
    }
    _ = loop.run(until: .distantPast)
}

final class Request: Sendable {
    func fail() { print("failed") }
    func whenAnswered(_ tell: @Sendable () -> Void) { tell() }
}

func timeout() {
    let loop = ThreadRunLoop.current
    let request = Request()
    // sample: timeout
    let timeout = loop.schedule(after: .seconds(30)) { request.fail() }
    request.whenAnswered { loop.cancel(timeout) }
    // end
}

func ask() async throws {
    let worker = try WorkerThread(name: "squares")
    // sample: ask
    let squares = MessagePort<Question<Int, Int>>(answering: { $0 * $0 })
    squares.add(to: worker.runLoop)
    let nine = try await squares.ask(3, timeout: .seconds(60))
    // end
    print(nine)
    worker.stop()
    worker.join()
}

func sleepOnLoop() async throws {
    let worker = try WorkerThread(name: "clock")
    // sample: sleep
    try await Task.sleep(for: .milliseconds(5), clock: worker.clock)
    // end
    worker.stop()
    worker.join()
}

func ticks() async throws {
    let worker = try WorkerThread(name: "clock")
    let end = worker.clock.now.advanced(by: .milliseconds(20))
    // sample: ticks
    for await date in worker.clock.ticks(every: .milliseconds(5)) {
        if date >= end { break }
    }
    // end
    worker.stop()
    worker.join()
}

final class Window: Sendable {}

func performOnMain() throws {
    let window = Window()
    let picture = "cat.png"
    let show = Selector<Window, String>("show") { _, picture in print("shows", picture) }
    // sample: perform-on-main
    try ThreadRunLoop.main.perform(show, on: window, with: picture, waitUntilDone: true)
    // end
}

func later() throws {
    let worker = try WorkerThread(name: "later")
    // sample: later
    let ticket = try worker.enqueue(after: .seconds(30)) { print("still nothing") }
    worker.cancel(ticket)
    // end
}

final class Document: Sendable {
    static let save = Selector<Document, Int>("save") { _, version in print("saves", version) }
}

func performAfterDelay() throws {
    let save = Document.save
    let document = Document()
    // sample: perform-after-delay
    try ThreadRunLoop.current.perform(save, on: document, with: 1, afterDelay: .seconds(2))
    // end
}

final class Recorder: Sendable {
    func rewind() { print("rewinds") }
}

func performWithoutArgument() throws {
    let worker = try WorkerThread(name: "recorder")
    let recorder = Recorder()
    // sample: no-argument
    let rewind = Selector<Recorder, NoArgument>("rewind") { recorder in recorder.rewind() }
    try worker.perform(rewind, on: recorder)
    // end
    worker.stop(.finishQueued)
    worker.join()
}

func endInTask() async throws {
    let worker = try WorkerThread(name: "ends")
    // sample: ended
    worker.stop(.finishQueued)
    try await worker.ended()
    // end
}
