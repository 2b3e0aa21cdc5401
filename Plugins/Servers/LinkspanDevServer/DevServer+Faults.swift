public import Linkspan
public import LinkspanInMemory
internal import LinkspanRuntime

/// What goes wrong between an app and its server, at the moment that a test chooses.
extension DevServer {
    /// Drops every connection without a word and forgets every session; everybody may come back at once.
    public func drop() {
        guard let run = self.run else { return }
        run.loop.execute { run.drop() }
    }

    /// Drops one client without a word.
    ///
    /// - Parameter peer: the client, as its hub sees it.
    public func drop(_ peer: HubPeer) {
        peer.disconnect(LinkspanError(.connectionLost, "the server dropped the connection"))
    }

    /// Puts one client out, for good as far as the protocols can say so: DISCONNECT, or close code 4403.
    ///
    /// - Parameters:
    ///   - peer: the client, as its hub sees it.
    ///   - reason: what a raw WebSocket is told; Socket.IO has no words for it.
    public func kick(_ peer: HubPeer, reason: String = "the server closed the connection") {
        peer.disconnect(LinkspanError(.closedByServer, reason))
    }

    /// Plays dead, or comes to life again.
    ///
    /// A stalled server accepts connections, and reads, answers and sends nothing; there is no heartbeat. What the hub
    /// says meanwhile is kept and sent afterwards, in its order.
    public func stall(_ isStalled: Bool = true) {
        self.condition.set(isStalled: isStalled)
        self.run?.stallingChanged()
    }

    /// Refuses everybody who connects from now on, before the hub hears of them.
    ///
    /// - Parameters:
    ///   - code: what a Socket.IO client gets as `code` in the data of CONNECT_ERROR.
    ///   - message: what the client is told.
    public func refuseCredentials(code: String = "refused", message: String = "the credentials are refused") {
        let details = try? Payload(["code": code])
        self.condition.set(refusal: LinkspanError(.credentialsRefused, message, details: details))
    }

    /// Lets the hub decide again, after ``refuseCredentials(code:message:)``.
    public func acceptCredentials() { self.condition.set(refusal: nil) }

    /// Looks at what clients send so much later than it arrives; zero for at once.
    public func delay(_ delay: Duration) { self.condition.set(delay: delay) }

    /// Goes away without a word, and comes back at the same port after a while.
    ///
    /// - Parameter pause: how long clients find nobody there.
    /// - Throws: ``/Linkspan/LinkspanError`` as ``start()`` does; the cancellation of the task only cuts the pause short.
    public func restart(after pause: Duration = .zero) async throws(LinkspanError) {
        await self.stop(gracefully: false)
        try? await Task.sleep(for: pause)
        try await self.start()
    }
}
