public import Linkspan
public import LinkspanInMemory
internal import LinkspanRuntime

/// The faults between an app and its server, at the moment that a test chooses.
extension DevServer {
    /// Drops every connection without a close message and forgets every session; clients may reconnect at once.
    public func drop() {
        guard let run = self.run else { return }
        run.context.loop.execute { run.drop() }
    }

    /// Drops one client without a close message.
    ///
    /// - Parameter peer: the client, as its hub sees it.
    public func drop(_ peer: HubPeer) {
        peer.disconnect(LinkspanError(.connectionLost, "the server dropped the connection"))
    }

    /// Disconnects one client permanently, by DISCONNECT or close code 4403.
    ///
    /// - Parameters:
    ///   - peer: the client, as its hub sees it.
    ///   - reason: the close reason on a raw WebSocket; Socket.IO has none.
    public func kick(_ peer: HubPeer, reason: String = "the server closed the connection") {
        peer.disconnect(LinkspanError(.closedByServer, reason))
    }

    /// Stops reading and writing without closing, or resumes.
    ///
    /// A stalled server accepts connections, and reads, answers and sends nothing; there is no heartbeat. What the hub
    /// says meanwhile is kept and sent afterwards, in its order.
    public func stall(_ isStalled: Bool = true) {
        self.faults.withLock { $0.isStalled = isStalled }
        self.run?.stallingChanged()
    }

    /// Refuses new clients before they reach the hub.
    ///
    /// - Parameters:
    ///   - code: the `code` in the data of CONNECT_ERROR, for Socket.IO clients.
    ///   - message: the message for the client.
    public func refuseCredentials(code: String = "refused", message: String = "the credentials are refused") {
        let details = try? Payload(["code": code])
        self.faults.withLock { $0.refusal = LinkspanError(.credentialsRefused, message, details: details) }
    }

    /// Ends ``refuseCredentials(code:message:)``: the hub decides again.
    public func acceptCredentials() { self.faults.withLock { $0.refusal = nil } }

    /// Delays the handling of received messages; zero for no delay.
    public func delay(_ delay: Duration) { self.faults.withLock { $0.delay = delay } }

    /// Stops without a close message, and starts at the same port after a pause.
    ///
    /// - Parameter pause: the time during which the port is closed.
    /// - Throws: ``/Linkspan/LinkspanError`` as ``start()`` does; the cancellation of the task only cuts the pause
    ///   short.
    public func restart(after pause: Duration = .zero) async throws(LinkspanError) {
        await self.stop(gracefully: false)
        if pause > .zero {
            let isOver = Promise<Void>()
            await withTaskCancellationHandler {
                await isOver.wait(until: self.scheduler.now + pause, by: self.scheduler)
            } onCancel: {
                isOver.fulfill()
            }
        }
        try await self.start()
    }
}
