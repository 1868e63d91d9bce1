// Clients that read events, over both protocols.

import Kernel
import RESP
import Support
import WorkerDaemon

/// An event as a client is told.
struct TestEvent: Equatable {
    let id: String
    let kind: String
    /// The entries of its description, as text.
    let details: [String: String]

    var epoch: String { String(id.split(separator: "-")[0]) }
    var number: Int { Int(id.split(separator: "-")[1]) ?? -1 }
    /// The change, with the job if it is one: `7 running`.
    var change: String {
        [details["job"], details["change"]].compactMap { $0 }.joined(separator: " ")
    }
}

/// A client that has events pushed.
final class EventClient {
    let client: TestClient
    /// The place behind which the events begin.
    private(set) var begin = ""

    init(_ daemon: TestDaemon, _ arguments: CommandArgument...) throws {
        client = try daemon.connect()
        _ = try client.call("HELLO", 3)
        try client.send(TestClient.bytes(["EVENTS"] + arguments))
        let reply = try client.reply()
        guard let text = reply.text else { throw Unexpected("EVENTS: \(reply)") }
        begin = text
    }

    /// Waits for the next event.
    func next() throws -> TestEvent {
        let push = try client.reply()
        guard case .push(let parts) = push, parts.count == 4, parts[0].text == "event",
            let id = parts[1].text, let kind = parts[2].text, case .map(let entries) = parts[3]
        else { throw Unexpected("no event: \(push)") }
        var details: [String: String] = [:]
        for entry in entries { details[entry.key.text ?? ""] = entry.value.shownText }
        return TestEvent(id: id, kind: kind, details: details)
    }

    /// Waits for so many events.
    func next(_ count: Int) throws -> [TestEvent] { try (0..<count).map { _ in try next() } }
}

extension RESPValue {
    fileprivate var shownText: String { text ?? integer.map { "\($0)" } ?? "\(self)" }
}

/// A client that reads server-sent events from a raw socket.
final class StreamClient {
    let raw: TestClient
    /// Status line and fields of the response.
    private(set) var head = ""
    private var pending = ""
    /// How many comments were read.
    private(set) var heartbeatCount = 0

    /// - Parameter fields: further ones of the request.
    init(_ address: SocketAddress, _ target: String, fields: [String] = []) throws {
        raw = try TestClient(address)
        let lines = ["GET \(target) HTTP/1.1", "Host: localhost"] + fields + ["", ""]
        try raw.send(text: lines.joined(separator: "\r\n"))
        while !pending.utf8.contains("\r\n\r\n".utf8) {
            guard let bytes = try raw.bytes() else { throw Unexpected("it ended: \(pending)") }
            pending += String(decoding: bytes, as: UTF8.self)
        }
        guard let end = pending.firstRange(of: "\r\n\r\n") else { throw Unexpected("no head") }
        head = String(pending[..<end.lowerBound])
        pending = String(pending[end.upperBound...])
    }

    /// Waits for the next message; nil if the stream has ended.
    func next() throws -> (id: String, kind: String, data: JSONValue)? {
        while true {
            while let end = pending.firstRange(of: "\n\n") {
                let lines = pending[..<end.lowerBound].split(separator: "\n").map(String.init)
                pending = String(pending[end.upperBound...])
                func value(_ name: String) -> String? {
                    lines.first { $0.hasPrefix("\(name): ") }
                        .map { String($0.dropFirst(name.utf8.count + 2)) }
                }
                if lines.allSatisfy({ $0.hasPrefix(":") }) {
                    heartbeatCount += 1
                    continue
                }
                guard let kind = value("event") else { continue }
                let data = try JSONReader.read(Array((value("data") ?? "").utf8))
                return (value("id") ?? "", kind, data)
            }
            guard let bytes = try raw.bytes() else { return nil }
            pending += String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Waits for the next event.
    func event() throws -> TestEvent {
        guard let (id, kind, data) = try next() else { throw Unexpected("the stream has ended") }
        var details: [String: String] = [:]
        if case .object(let members) = data {
            for member in members {
                switch member.value {
                case .string(let text), .number(let text): details[member.key] = text
                default: details[member.key] = "\(member.value)"
                }
            }
        }
        return TestEvent(id: id, kind: kind, details: details)
    }

    func events(_ count: Int) throws -> [TestEvent] { try (0..<count).map { _ in try event() } }
}

extension TestDaemon {
    /// A stream from the Unix socket for HTTP.
    func stream(_ target: String, fields: [String] = []) throws -> StreamClient {
        try StreamClient(.unix(UnixAddress(scratch.file("http"))), target, fields: fields)
    }
}
