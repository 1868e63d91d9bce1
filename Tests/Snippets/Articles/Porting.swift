// The samples of "Porting from Foundation and Cocoa".

import Dispatch
import Glibc
import RunLoops
import WorkerThreads

// sample: selector
final class Camera: Sendable {
    static let focus = Selector<Camera, Int>("focus") { camera, metres in
        print("focus at \(metres) m on \(WorkerThread.currentName ?? "?")")
    }
}
// end

// sample: controller-class
final class Controller {  // not Sendable: it belongs to one thread
    private var count = 0

    func tick(_ timer: ThreadRunLoop.Timer) {
        count += 1
        if count == 3 { timer.invalidate() }
    }
}
// end

func controller() {
    // sample: controller
    let loop = ThreadRunLoop.current
    let controller = Confined(Controller(), to: loop)
    let timer = ThreadRunLoop.Timer(after: .zero, every: .milliseconds(5)) { timer in
        controller.value.tick(timer)
        if !timer.isValid { loop.stop() }
    }
    timer.tolerance = .milliseconds(1)
    loop.add(timer)
    print(loop.run())
    // end
}

func priority() throws {
    // sample: priority
    let worker = try WorkerThread(name: "indexer")
    try worker.post {
        // Of this thread only, on Linux; Swift has the constant's type and the parameter's as two.
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
    }
    // end
}

/// A run loop on a thread that is no worker.
func ownThread() {
    ThreadRunLoop.current.perform { ThreadRunLoop.current.stop() }
    // sample: own-thread
    let loop = ThreadRunLoop.current
    loop.add(ThreadRunLoop.Source {})  // keeps the run alive, and can't fail as a port can
    while loop.run(returnAfterSourceHandled: true) == .handledSource {}
    // end
}

func perform() throws {
    // sample: perform
    let worker = try WorkerThread(name: "camera")
    let camera = Camera()
    try worker.perform(Camera.focus, on: camera, with: 3, waitUntilDone: true)
    try worker.perform(Camera.focus, on: camera, with: 9, afterDelay: .seconds(60))
    print("cancelled:", worker.cancelPreviousPerforms(target: camera, selector: "focus"))
    // end
    worker.stop(.finishQueued)
    worker.join()
}

func descriptor() throws {
    let (reading, writing) = try pipe()
    let worker = try WorkerThread(name: "reader")
    let handle: @Sendable (String) -> Void = {
        print("read:", $0)
    }
    // sample: descriptor
    let port = ThreadRunLoop.Port(watching: reading) { port, _ in
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = read(reading, &bytes, bytes.count)
        if count <= 0 { return port.invalidate() }  // end of file
        handle(String(decoding: bytes.prefix(count), as: UTF8.self))
    }
    try worker.submitAndWait { try ThreadRunLoop.current.add(port) }
    // end
    _ = write(writing, "hello", 5)
    close(writing)
    while port.isValid { sched_yield() }
    worker.stop(.finishQueued)
    worker.join()
    close(reading)
}

func commandBuffer() throws {
    let worker = try WorkerThread(name: "drawing")
    // sample: command-buffer
    let buffer = CommandBuffer<String> { commands in
        print("draws", commands.joined(separator: ", "))
    }
    buffer.add(to: worker.runLoop)
    buffer.add("a line")
    buffer.add("a circle")  // the thread still sleeps
    buffer.fire()
    // end
    try worker.submitAndWait {}
    worker.stop(.finishQueued)
    worker.join()
}

func messagePort() throws {
    let worker = try WorkerThread(name: "squares")
    // sample: message-port
    let answers = MessagePort<Int> { square in
        print("answer:", square)
        ThreadRunLoop.current.stop()
    }
    answers.add(to: .current)
    let questions = MessagePort<Int> { number in answers.send(number * number) }
    questions.add(to: worker.runLoop)
    questions.send(12)
    _ = ThreadRunLoop.current.run()
    // end
    worker.stop(.finishQueued)
    worker.join()
}

/// Compiled only: an asynchronous `main` has no run of the main loop around it.
func signalOnMain() {
    // sample: signal
    signal(SIGUSR1, SIG_IGN)  // or it would end the program
    let reload = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: .main)
    reload.setEventHandler {
        print("reads its configuration anew")
    }
    reload.resume()
    // end
}

/// A pipe: the end to read from, the end to write to.
private func pipe() throws -> (CInt, CInt) {
    var ends: [CInt] = [0, 0]
    guard Glibc.pipe(&ends) == 0 else { throw NoPipe() }
    return (ends[0], ends[1])
}

private struct NoPipe: Error {}
