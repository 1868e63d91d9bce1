// The life of `workerctl top`: signals, keys and seconds on the main thread's loop. A thread of its
// own reads the pushes of the daemon, another one sends commands, so that a key always has its
// effect at once.

internal import Kernel
internal import RunLoops
internal import WorkerClient
internal import WorkerThreads

/// A running `workerctl top`.
///
/// Confined to the main thread's loop.
final class Top {
    static let signals: Set<Signal> = [
        .interrupt, .terminate, .hangUp, .terminalStop, .windowChanged,
    ]
    private static let pause = Duration.seconds(1)

    private let client: WorkerClient
    /// Sends commands.
    private let link: WorkerThread
    /// Reads pushes.
    private let news: WorkerThread
    private let screen: FullScreen
    private let style: Style
    private let loop = ThreadRunLoop.current
    private let input: Descriptor
    private var model = TopModel()
    private var isFollowing = false
    private var status: Failure.Status?

    init(_ client: WorkerClient, _ screen: FullScreen, _ style: Style) throws(SystemError) {
        self.client = client
        self.screen = screen
        self.style = style
        link = try WorkerThread(name: "link")
        news = try WorkerThread(name: "news")
        input = try StandardStream.input.duplicate()
    }

    /// Shows the threads until a key or a signal ends it.
    func run() throws(SystemError) -> Failure.Status {
        let top = Confined(self, to: loop)
        let signals = try SignalPort(Self.signals) { top.value.handle($0.signal) }
        try signals.add(to: loop)
        let keys = ThreadRunLoop.Port(watching: input.number) { _, _ in top.value.read() }
        try loop.add(keys)
        let seconds = ThreadRunLoop.Timer(after: .zero, every: Self.pause) { _ in
            top.value.tick()
        }
        loop.add(seconds)
        screen.take()
        defer { screen.giveBack() }
        while status == nil {
            draw()
            _ = loop.run(mode: .default)
        }
        keys.invalidate()
        seconds.invalidate()
        signals.invalidate()
        client.close()
        return status ?? .good
    }

    private func end(_ status: Failure.Status) {
        self.status = status
        loop.stop()
    }

    private func draw() {
        let view = TopView(
            model: model, address: client.address.description, size: screen.size, style: style)
        screen.draw(view.lines(at: loop.now))
    }

    // MARK: - The daemon

    /// Ends a second; connects again, if there is no connection.
    private func tick() {
        model.tick(at: loop.now)
        draw()
        guard !isFollowing else { return }
        isFollowing = true
        work(on: news) { client, tell in
            let end = Result { () throws(WorkerClientError) in
                try client.followLive { view in
                    let time = SystemClock().now()
                    tell { $0.model.take(view, at: time) }
                    return true
                }
            }
            return { top in
                top.isFollowing = false
                guard case .failure(let error) = end else { return }
                top.model.lose(Self.reason(error), at: top.loop.now)
            }
        }
    }

    /// Does something with the daemon on another thread, and something with its outcome here.
    ///
    /// - Parameter body: also given a function that does something here before its end.
    private func work(
        on thread: WorkerThread,
        _ body:
            @escaping @Sendable (
                WorkerClient, @escaping (@escaping @Sendable (Top) -> Void) -> Void
            ) -> @Sendable (Top) -> Void
    ) {
        let (client, loop, top) = (client, loop, Confined(self, to: loop))
        let tell = { @Sendable (outcome: @escaping @Sendable (Top) -> Void) in
            _ = loop.perform {
                outcome(top.value)
                top.value.draw()
            }
        }
        let isTaken: Void? = try? thread.post { tell(body(client, tell)) }
        if isTaken == nil { end(.unavailable) }
    }

    private func steer(
        _ name: String,
        _ act: @escaping @Sendable (WorkerClient, String) throws(WorkerClientError) -> Void
    ) {
        let threads = model.shownThreads
        guard !threads.isEmpty else { return }
        let thread = threads[model.cursor].name
        work(on: link) { client, _ in
            let outcome = Result { () throws(WorkerClientError) in try act(client, thread) }
            return { top in
                switch outcome {
                case .success: top.model.message = "\(name) \(thread)"
                case .failure(let error): top.model.message = "\(thread): \(Self.reason(error))"
                }
            }
        }
    }

    private static func reason(_ error: WorkerClientError) -> String {
        switch error {
        case .notConnected(_, let reason, _): reason
        default: error.description
        }
    }

    // MARK: - The terminal

    private func handle(_ signal: Signal) {
        switch signal {
        case .windowChanged: draw()
        case .terminalStop:
            screen.giveBack()
            // Returns once a shell lets this process go on.
            try? Signal.stop.send(toProcess: ProcessStatistics.processID)
            screen.take()
            draw()
        case .interrupt: end(.interrupted)
        default: end(.terminated)
        }
    }

    private func read() {
        var bytes: [UInt8] = []
        guard let result = try? input.read(appendingTo: &bytes, atMost: 1_024), result != .end
        else { return end(.terminated) }
        for key in Key.all(in: bytes) { press(key) }
        draw()
    }

    private func press(_ key: Key) {
        if model.isFiltering { return type(key) }
        model.message = ""
        switch key {
        case .character("q"): end(.good)
        case .character("j"), .down: model.move(by: 1)
        case .character("k"), .up: model.move(by: -1)
        case .character("/"): model.isFiltering = true
        case .character("p"):
            steer("paused") { (client, name) throws(WorkerClientError) in try client.pause(name) }
        case .character("r"):
            steer("resumed") { (client, name) throws(WorkerClientError) in
                try client.resume(name)
            }
        case .escape: model.filter = ""
        default: break
        }
    }

    private func type(_ key: Key) {
        switch key {
        case .character(let character): model.filter.append(character)
        case .backspace: _ = model.filter.popLast()
        case .enter: model.isFiltering = false
        case .escape:
            model.filter = ""
            model.isFiltering = false
        case .up, .down: break
        }
    }
}
