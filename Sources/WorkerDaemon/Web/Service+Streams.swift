// Requests whose responses go on.

internal import HTTP
internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops

extension Service {
    /// Begins the response to a request that asks for a stream.
    func openStream(
        _ make: (WebRequest, Service, Session) throws -> any MessageSource, _ head: RequestHead,
        _ body: [UInt8], _ session: Session
    ) {
        do {
            let request = try WebRequest(head, [], body: body)
            guard head.method != .head else {
                return session.answer(head, .ok, "", ServerSentEvents.contentType)
            }
            try streams.check(session)
            let source = try make(request, self, session)
            let stream = HTTPStream(session.reserve(), to: head, source, at: loop.now)
            session.begin(stream)
            streams.add(session, stream)
        } catch {
            session.conversation?.next = .call(HTTPCall(head, .object))
            session.reply(WireError(error).reply)
        }
    }
}

extension HTTPCall {
    /// The head of a response that goes on until the connection ends.
    static func openingOfStream(to head: RequestHead) -> [UInt8] {
        var bytes: [UInt8] = []
        _ = ResponseWriter.writeHead(
            ResponseHead(.ok, ServerSentEvents.contentType, fields), bodyByteCount: nil, to: head,
            keepsAlive: false, unixSeconds: WallClock.unixMilliseconds() / 1_000, &bytes)
        return bytes
    }
}
