@testable import Linkspan
internal import Foundation
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@Suite("Logging out", .timeLimit(.minutes(1)))
struct LogOutTests {
    private let harness = PoolHarness()
    private let recorder = EventRecorder()

    private func connect(
        _ source: CredentialSource, _ url: String = "scripted://server",
        _ options: (inout ConnectionOptions) -> Void = { _ in }
    ) throws -> ConnectionHandler {
        try ConnectionBuilder(url).transport(self.harness.transport).credentials(source).options(options)
            .connect(by: self.harness.manager)
    }

    private func perform(_ kind: Command.Kind, _ event: String, over handler: ConnectionHandler) throws {
        try handler.perform(Command(kind, event: event, payload: .empty, completion: self.recorder.completion(event)))
    }

    private func logOut(_ source: CredentialSource) async throws {
        let isOut = Lock(false)
        // Runs beside the clock, which has to be moved meanwhile.
        let task = Task {
            await self.harness.manager.logOut(source)
            isOut.withLock { $0 = true }
        }
        try await eventually("the end of the log-out", self.harness.scheduler) { isOut.withLock { $0 } }
        await task.value
    }

    @Test
    func `ends every connection of the source, held or not, and none of another`() async throws {
        let (ann, bob) = (CredentialSource.fixed(.auth("ann")), CredentialSource.fixed(.auth("bob")))
        let held = [try self.connect(ann), try self.connect(ann), try self.connect(ann, "scripted://other")]
        let left = try self.connect(ann, "scripted://third")
        let other = try self.connect(bob)
        self.harness.scheduler.settle()
        left.release()
        try await self.logOut(ann)
        #expect(held.map(\.state) == [.released, .released, .released])
        #expect(other.state == .connected)
        #expect(self.harness.transport.openPeers.map(\.request.token) == ["bob"])
        #expect(self.harness.manager.statistics.count == 1)
        #expect(throws: LinkspanError.self) { try held[0].send("event") }
        // The last holders leave what is gone already.
        for handler in held { handler.release() }
        let next = try self.connect(bob)
        #expect(next.connection === other.connection)
    }

    @Test
    func `commands that wait or are under way fail with their certainty, and the store erases them`() async throws {
        let store = MemoryDeliveryStore(executor: self.harness.scheduler.executor)
        let source = CredentialSource.fixed(.auth("ann"), account: "ann")
        let handler = try self.connect(source) { $0.store = store }
        self.harness.scheduler.settle()
        try self.perform(.request, "under way", over: handler)
        try self.perform(.deliver(orderingKey: "a"), "delivery", over: handler)
        self.harness.scheduler.settle()
        #expect(store.waiting == ["delivery"])
        try await self.logOut(source)
        #expect(self.recorder.failure("under way")?.code == .loggedOut)
        #expect(self.recorder.failure("under way")?.certainty == .unknown)
        #expect(self.recorder.failure("delivery")?.code == .loggedOut)
        #expect(store.rows.isEmpty)

        let offline = try self.connect(source)
        self.harness.scheduler.settle()
        try offline.disconnect()
        try self.perform(.send, "waiting", over: offline)
        try await self.logOut(source)
        #expect(self.recorder.failure("waiting")?.code == .loggedOut)
        #expect(self.recorder.failure("waiting")?.certainty == .notSent)
        let next = try self.connect(source)
        self.harness.scheduler.advance(by: .seconds(1))
        #expect(next.state == .connected)
        #expect(self.harness.transport.received.map(\.event) == ["under way", "delivery"])
    }

    @Test(arguments: [true, false])
    func `a session that was left before cannot be resumed, also when deliveries are kept`(isHeld: Bool) async throws {
        let harness = PoolHarness(script: { _ in .init { $0.tellsResumption = true } })
        let store = MemoryDeliveryStore(executor: harness.scheduler.executor)
        let source = CredentialSource.fixed(.auth("ann"), account: "ann")
        let handler = try ConnectionBuilder("scripted://server").transport(harness.transport).credentials(source)
            .options { $0.store = store }.connect(by: harness.manager)
        harness.scheduler.settle()
        harness.transport.peers.first?.emit("line", .empty)
        harness.scheduler.advance(by: .seconds(1))
        #expect(store.sessions["ann"]?.resumption != nil)
        if !isHeld {
            handler.release()
            // Just beyond the idle timeout: the pool still knows of it.
            harness.scheduler.advance(by: .seconds(6))
            #expect(harness.manager.statistics.isEmpty)
        }
        let isOut = Lock(false)
        let task = Task {
            await harness.manager.logOut(source, keepingDeliveries: true)
            isOut.withLock { $0 = true }
        }
        try await eventually("the end of the log-out", harness.scheduler) { isOut.withLock { $0 } }
        await task.value
        #expect(store.sessions["ann"]?.resumption == nil)
    }

    @Test
    func `works in every state, the first attempt and the pause between attempts included`() async throws {
        let scripts: [LinkScript] = [.hanging, .refusing(.lost), .refusing(.permanent), .perfect]
        for script in scripts {
            let harness = PoolHarness { _ in script }
            let source = CredentialSource.fixed(.auth("ann"))
            let handler = try ConnectionBuilder("scripted://server").transport(harness.transport).credentials(source)
                .connect(by: harness.manager)
            harness.scheduler.settle()
            let isOut = Lock(false)
            // Runs beside the clock, which has to be moved meanwhile.
            Task {
                await harness.manager.logOut(source)
                isOut.withLock { $0 = true }
            }
            try await eventually("the end of the log-out", harness.scheduler) { isOut.withLock { $0 } }
            #expect(handler.state == .released)
            #expect(handler.status.resumption == nil)
            harness.scheduler.advance(by: .seconds(60))
            #expect(harness.transport.openPeers.isEmpty)
            #expect(harness.transport.peers.count == 1)
        }
    }

    @Test
    func `no cached token is used again, and a call of the provider under way is cancelled`() async throws {
        let provider = GatedProvider()
        let source = CredentialSource.provider { try await provider.credentials(for: $0) }
        let first = try self.connect(source)
        try await provider.called(1, self.harness.scheduler)
        provider.answer(1, token: "old", validFor: .seconds(3_600))
        try await eventually("the link", self.harness.scheduler) { first.state == .connected }
        try await self.logOut(source)
        let second = try self.connect(source)
        try await provider.called(2, self.harness.scheduler)
        #expect(provider.reasons == [.first, .first])
        try await self.logOut(source)
        try await eventually("the cancellation", self.harness.scheduler) { provider.cancelled == [2] }
        #expect(second.state == .released)
        #expect(self.harness.transport.peers.map(\.request.token) == ["old"])
    }

    @Test
    func `a connection that opens anew when its user is logged out leaves the next one no token`() async throws {
        let provider = GatedProvider()
        let source = CredentialSource.provider { try await provider.credentials(for: $0) }
        let first = try self.connect(source)
        try await provider.called(1, self.harness.scheduler)
        provider.answer(1, token: "old", validFor: .seconds(3_600))
        try await eventually("the link", self.harness.scheduler) { first.state == .connected }
        try first.disconnect()
        self.harness.scheduler.settle()
        let isOut = Lock(false)
        // Runs beside the clock, which has to be moved meanwhile.
        Task {
            await self.harness.manager.logOut(source)
            isOut.withLock { $0 = true }
        }
        // Both wait for the executor: the intent to connect, and behind it the end of the connection.
        let (isOver, executor) = (Promise<Void>(), self.harness.scheduler.executor)
        let isStarted = SystemThread.start(name: "busy") {
            executor.execute {
                try? first.connect()
                while source.login == 0 { sched_yield() }
            }
            isOver.fulfill()
        }
        try #require(isStarted)
        await isOver.value
        try await eventually("the end of the log-out", self.harness.scheduler) { isOut.withLock { $0 } }
        #expect(first.state == .released)
        #expect(provider.reasons == [.first])
        let second = try self.connect(source)
        try await provider.called(2, self.harness.scheduler)
        provider.answer(2, token: "new")
        try await eventually("the next user's link", self.harness.scheduler) { second.state == .connected }
        #expect(self.harness.transport.peers.map(\.request.token) == ["old", "new"])
    }

    @Test
    func `a connection that is made while its user is logged out is ended, and another one made`() async throws {
        let provider = GatedProvider()
        let source = CredentialSource.provider { try await provider.credentials(for: $0) }
        let factory = OvertakenFactory(base: self.harness.manager.factory) { number in
            if number == 1 { source.forget()() }
        }
        let manager = ConnectionManager(
            options: .init { [scheduler = self.harness.scheduler] in
                $0.scheduler = scheduler
                $0.factory = factory
            })
        let handler = try ConnectionBuilder("scripted://server").transport(self.harness.transport).credentials(source)
            .connect(by: manager)
        try await provider.called(1, self.harness.scheduler)
        provider.answer(1, token: "new")
        try await eventually("the link", self.harness.scheduler) { handler.state == .connected }
        #expect(manager.statistics.count == 1)
        try await eventually("the end of the first", self.harness.scheduler) { factory.made.first?.state == .released }
        #expect(factory.made.count == 2)
    }

    @Test
    func `waits for links that are closing already, those of a former source included`() async throws {
        let source = CredentialSource.fixed(.auth("ann"))
        let finish = Lock<(@Sendable () -> Void)?>(nil)
        let transport = StubbornTransport(base: self.harness.transport) { made in finish.withLock { $0 = made } }
        func connect(_ source: CredentialSource) throws -> ConnectionHandler {
            try ConnectionBuilder("scripted://server").transport(transport).credentials(source)
                .options { $0.idleTimeout = .zero }.connect(by: self.harness.manager)
        }
        let handler = try connect(source)
        self.harness.scheduler.settle()
        handler.release()
        #expect(self.harness.manager.statistics.isEmpty)
        let isOut = Lock(false)
        let timers = self.harness.scheduler.pendingCount
        // Runs beside the clock, which has to be moved meanwhile.
        let task = Task {
            await self.harness.manager.logOut(source)
            isOut.withLock { $0 = true }
        }
        // The log-out waits when its limit is running.
        await self.harness.scheduler.pending(atLeast: timers + 1)
        #expect(isOut.withLock { !$0 })
        finish.withLock { $0 }?()
        try await eventually("the end of the log-out", self.harness.scheduler) { isOut.withLock { $0 } }
        await task.value
    }

    @Test
    func `is over after its limit, even when a link does not close`() async throws {
        let source = CredentialSource.fixed(.auth("ann"))
        let transport = StubbornTransport(base: self.harness.transport) { _ in }
        let handler = try ConnectionBuilder("scripted://server").transport(transport).credentials(source)
            .connect(by: self.harness.manager)
        self.harness.scheduler.settle()
        let isOut = Lock(false)
        // Runs beside the clock, which has to be moved meanwhile.
        let task = Task {
            await self.harness.manager.logOut(source, within: .seconds(3))
            isOut.withLock { $0 = true }
        }
        try await eventually(turn: { self.harness.scheduler.advance(by: .milliseconds(100)) }) { isOut.withLock { $0 } }
        await task.value
        #expect(handler.state == .released)
    }
}

/// Makes connections that something overtakes before they are in the pool.
private final class OvertakenFactory: ConnectionFactory {
    private let base: any ConnectionFactory
    private let overtake: @Sendable (Int) -> Void
    private let connections = Lock<[PooledConnection]>([])

    init(base: any ConnectionFactory, by overtake: @escaping @Sendable (Int) -> Void) {
        self.base = base
        self.overtake = overtake
    }

    var made: [PooledConnection] { self.connections.withLock { $0 } }

    func makeConnection(_ configuration: ConnectionConfiguration) -> PooledConnection {
        let connection = self.base.makeConnection(configuration)
        let count = self.connections.withLock { connections in
            connections.append(connection)
            return connections.count
        }
        self.overtake(count)
        return connection
    }
}

/// A transport whose links close only when the test says so.
private struct StubbornTransport: Transport {
    let base: ScriptedTransport
    /// Gets what ends a link that was made.
    let made: @Sendable (@escaping @Sendable () -> Void) -> Void
    let name = "stubborn"
    var schemes: Set<String> { self.base.schemes }
    var executor: any JobExecutor { self.base.executor }

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        let base = self.base.makeLink(request, receiver: receiver)
        let (confined, executor) = (Confined(base, to: self.executor), self.executor)
        self.made { executor.execute { confined.value.abort() } }
        return StubbornLink(base: base)
    }
}

private final class StubbornLink: Link {
    private let base: any Link

    init(base: any Link) { self.base = base }

    func open() { self.base.open() }
    func send(_ message: OutboundMessage) -> SendAcceptance { self.base.send(message) }
    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance { self.base.reply(to: id, with: payload) }
    func close(code: UInt16?, reason: String) {}
    func abort() { self.base.abort() }
}
