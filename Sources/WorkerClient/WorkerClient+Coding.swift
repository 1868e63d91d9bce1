// Payloads and results as values, by a coder of the user's own: the library brings none, so that a
// program that needs no Foundation links none. And the blocking client's commands with such values.

/// Turns values into payloads, and results into values.
///
/// ```swift
/// struct JSON: PayloadCoder {
///     func encode(_ value: some Encodable) throws -> [UInt8] {
///         Array(try JSONEncoder().encode(value))
///     }
///     func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
///         try JSONDecoder().decode(type, from: Data(bytes))
///     }
/// }
/// ```
public protocol PayloadCoder: Sendable {
    /// The bytes of a value.
    ///
    /// - Throws: why there are none; the client passes it on.
    func encode(_ value: some Encodable) throws -> [UInt8]

    /// The value of these bytes.
    ///
    /// - Throws: why they are none; the client passes it on.
    func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value
}

extension WorkerClient {
    /// Hands in a job whose payload is a value.
    ///
    /// - Parameters:
    ///   - thread: the name of a thread or pool, or of a pool's member.
    ///   - selector: what handles it.
    ///   - value: what the handler gets, as `coder` encodes it.
    ///   - coder: the user's own.
    ///   - options: its priority, when it is due, how long it may run.
    /// - Returns: the job's number.
    /// - Throws: as `perform` with bytes, and what `coder` throws.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has accepted it, not until it was performed.
    public func perform(
        onThread thread: String, selector: String, encoding value: some Encodable,
        with coder: some PayloadCoder, options: PerformOptions = PerformOptions()
    ) throws -> UInt64 {
        try perform(
            onThread: thread, selector: selector, payload: coder.encode(value), options: options)
    }

    /// Hands in a job whose payload is a value, and waits for the value that is its result.
    ///
    /// - Parameters:
    ///   - thread: the name of a thread or pool, or of a pool's member.
    ///   - selector: what handles it.
    ///   - value: what the handler gets, as `coder` encodes it.
    ///   - result: what the handler's bytes are decoded as.
    ///   - coder: the user's own.
    ///   - options: its priority, when it is due, how long it may run.
    ///   - wait: how long; after that the error is `TIMEOUT`, and the job goes on.
    /// - Throws: as `performAndWait` with bytes, and what `coder` throws.
    /// - Thread: any thread.
    /// - Blocks: until the job has ended.
    public func performAndWait<Result: Decodable>(
        onThread thread: String, selector: String, encoding value: some Encodable,
        decoding result: Result.Type, with coder: some PayloadCoder,
        options: PerformOptions = PerformOptions(), wait: JobWait = .forever
    ) throws -> Result {
        let bytes = try performAndWait(
            onThread: thread, selector: selector, payload: coder.encode(value), options: options,
            wait: wait)
        return try coder.decode(result, from: bytes)
    }

    /// The value that is the result of a job, once it has ended.
    ///
    /// - Parameters:
    ///   - id: the job's number.
    ///   - result: what the handler's bytes are decoded as.
    ///   - coder: the user's own.
    ///   - wait: how long; after that the error is `TIMEOUT`, and the job goes on.
    /// - Throws: as `result(of:wait:)`, and what `coder` throws.
    /// - Thread: any thread.
    /// - Blocks: until the job has ended, as long as `wait` says.
    public func result<Result: Decodable>(
        of id: UInt64, decoding result: Result.Type, with coder: some PayloadCoder,
        wait: JobWait = .forever
    ) throws -> Result {
        try coder.decode(result, from: self.result(of: id, wait: wait))
    }
}
