internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import LinkspanTesting
internal import LinkspanWebSocket
internal import TestedBackEnds
internal import Testing

/// Credentials that are renewed while a connection is up, on real sockets and a clock of the test.
@Suite("Renewed credentials", .timeLimit(.minutes(2)), .overSomeBackEnd)
struct RenewalTests {
    private func transport(_ way: Way, _ bench: Bench, renewalEvent: String?) -> (url: String, transport: any Transport)
    {
        switch way {
        case .socketIO(let carriers):
            let transport = SocketIOTransport(
                .init {
                    $0.carriers = carriers
                    $0.renewalEvent = renewalEvent
                }, loop: bench.loop)
            return (bench.server.socketIOURL, transport)
        case .webSocket:
            let transport = WebSocketTransport(.init { $0.renewalEvent = renewalEvent }, loop: bench.loop)
            return (bench.server.webSocketURL, transport)
        }
    }

    @Test(arguments: Way.allCases)
    func `are shown to the server by the event that was chosen`(_ way: Way) async throws {
        let heard = EventRecorder()
        let hub = InMemoryHub()
        hub.onConnect { peer in
            peer.on("linkspan.renew") { message in
                heard.note(message.payload[0]?["token"]?.string.map { String($0) } ?? "none")
            }
        }
        try await Bench.run(hub: hub) { bench in
            let clock = VirtualScheduler()
            let calls = Lock(0)
            let source = CredentialSource.provider { _ in
                let call = calls.withLock { calls in
                    calls += 1
                    return calls
                }
                return try Credentials(auth: ["token": "token \(call)"], validFor: .seconds(100))
            }
            let (url, transport) = self.transport(way, bench, renewalEvent: Credentials.renewalEvent)
            let manager = ConnectionManager(
                options: .init {
                    $0.scheduler = clock
                })
            let handler = try ConnectionBuilder(url).transport(transport).credentials(source)
                .connect(by: manager)
            for await change in handler.stateChanges where change.to == .connected { break }
            await self.endOfTurn(of: transport)
            // Due between 75 and 80 s. The provider has 10 s for an answer, so the clock must not go on to 85 s.
            clock.advance(by: .seconds(80))
            // The timer of the attempt may have fired on the way, and may have been set anew behind the clock.
            await self.endOfTurn(of: transport)
            clock.settle()
            try await heard.wait(for: "the renewed credentials") { !$0.isEmpty }
            #expect(heard.notes == ["token 2"])
            #expect(handler.state == .connected)
            await manager.shutdown()
        }
    }

    /// Returns when the executor is through with what it is doing, so that the deadlines which that sets are there.
    private func endOfTurn(of transport: any Transport) async {
        let isOver = Promise<Void>()
        transport.executor.execute { isOver.fulfill(()) }
        await isOver.value
    }

    @Test(arguments: Way.allCases)
    func `are for the next link when no event was chosen`(_ way: Way) async throws {
        try await Bench.run { bench in
            let transport = self.transport(way, bench, renewalEvent: nil).transport
            let receiver = Silence()
            let request = LinkRequest(
                url: try ConnectionURL(bench.server.webSocketURL), credentials: try Credentials(auth: ["token": "1"]))
            let renewed = try Credentials(auth: ["token": "2"])
            let isTold = Promise<Bool>()
            transport.executor.execute {
                let link = transport.makeLink(request, receiver: receiver)
                isTold.fulfill(link.renewCredentials(renewed))
                link.abort()
            }
            #expect(await isTold.value == false)
        }
    }
}

/// Hears nothing.
private final class Silence: LinkReceiver {
    func receive(_ next: () -> LinkEvent?) { while next() != nil {} }
}
