// Values in the place of bytes, by a coder of the user's own.

import Testing
import WorkerClient

/// Codes values that have a text, as that text.
private struct TextCoder: PayloadCoder {
    struct NoText: Error {}

    func encode(_ value: some Encodable) throws -> [UInt8] {
        guard let value = value as? any LosslessStringConvertible else { throw NoText() }
        return Array(value.description.utf8)
    }

    func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        guard let type = type as? any LosslessStringConvertible.Type,
            let value = type.init(String(decoding: bytes, as: UTF8.self)) as? Value
        else { throw NoText() }
        return value
    }
}

@Suite(.timeLimit(.minutes(2)))
struct `Payloads that are values` {
    @Test func `are encoded and decoded by the user's coder`() throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        let number = try client.performAndWait(
            onThread: "images", selector: "echo", encoding: 42, decoding: Int.self,
            with: TextCoder())
        #expect(number == 42)
        let id = try client.perform(
            onThread: "images", selector: "echo", encoding: 1.5, with: TextCoder())
        #expect(try client.result(of: id, decoding: Double.self, with: TextCoder()) == 1.5)
        #expect(throws: TextCoder.NoText.self) {
            try client.result(of: id, decoding: Int.self, with: TextCoder())
        }
        #expect(throws: TextCoder.NoText.self) {
            try client.perform(
                onThread: "images", selector: "echo", encoding: [1, 2], with: TextCoder())
        }
        // A value that can't be encoded is not handed in.
        #expect(try client.jobs().count == 2)
    }

    @Test func `are encoded and decoded for tasks`() async throws {
        let daemon = try TestDaemon()
        let client = try await AsyncWorkerClient.connect(to: daemon.address)
        let shout = try await client.performAndWait(
            onThread: "mail", selector: "shout", encoding: "hello", decoding: String.self,
            with: TextCoder())
        #expect(shout == "HELLO")
        let id = try await client.perform(
            onThread: "images", selector: "echo", encoding: true, with: TextCoder())
        #expect(
            try await client.result(of: id, decoding: Bool.self, with: TextCoder()) == true)
        client.close()
    }
}
