// The connection of a worker, which is made anew when it has ended.

internal import Kernel
internal import Synchronization

/// The connection over which a worker takes jobs and ends them.
final class ServingLink: Sendable {
    let options: ClientOptions
    let stops = StopBoard()
    private let address: WorkerAddress
    private let client = Mutex<AsyncWorkerClient?>(nil)

    init(_ address: WorkerAddress, _ options: ClientOptions) {
        self.address = address
        self.options = options
    }

    /// The connection, if there is one.
    var living: AsyncWorkerClient? {
        client.withLock { client in
            if client?.endReason != nil { client = nil }
            return client
        }
    }

    /// Connects unless there is a connection; called by one task at a time.
    func connect() async throws -> AsyncWorkerClient {
        if let living { return living }
        let fresh = try await AsyncWorkerClient.connect(
            to: address, options: options, pushes: PushBoard(stops))
        client.withLock { $0 = fresh }
        return fresh
    }

    func run<Value>(_ call: Call<Value>) async throws -> Value {
        try await connect().run(call)
    }

    func close() {
        client.withLock { $0.take() }?.close()
    }

    /// Does something also in a task that is cancelled, for as long as a reply may take.
    func seeThrough(_ body: @escaping @Sendable () async throws -> Void) async {
        let work = Task { try await body() }
        let limit = options.replyTimeout ?? .seconds(30)
        let watch = Task {
            try await Task.sleep(for: limit)
            work.cancel()
        }
        _ = await work.result
        watch.cancel()
    }
}
