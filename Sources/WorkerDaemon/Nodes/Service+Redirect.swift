// Requests of HTTP for a thread or a job of another node: the client is told where that is.

internal import HTTP
internal import Jobs
internal import RESP

extension Service {
    /// Answers a request with the address of another node.
    ///
    /// - Throws: that the node has none.
    func redirect(_ session: Session, to node: StoreNode) throws(WireError) {
        guard let url = node.requests, let conversation = session.conversation,
            case .call(var call) = conversation.next, let head = call.head
        else {
            throw WireError(
                .busy,
                "node \(node.name) has it, and has no address for requests of HTTP: set node.http "
                    + "there")
        }
        session.links?.noteWayFound()
        call.errorStatus = .temporaryRedirect
        call.fields.append(("Location", url + head.target.text))
        conversation.next = .call(call)
        session.reply(WireError(.err, "node \(node.name) has it, at \(url)").reply)
    }
}
