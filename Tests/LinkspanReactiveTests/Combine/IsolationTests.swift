#if canImport(Combine) || OpenCombine
internal import Dispatch
internal import TestSupport
internal import Linkspan
internal import LinkspanReactive
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import Testing

#if canImport(Combine)
internal import Combine
#else
internal import OpenCombine
internal import OpenCombineDispatch
#endif

extension Event where Value == Int, Reply == NoReply {
    fileprivate static var number: Self { Event("number") }
}

/// Publishers in the code of actors, whose closures the language has checked when they are called (SE-0423).
@Suite("Publishers and actors", .timeLimit(.minutes(1)))
struct IsolationTests {
    let lobby = Lobby()

    /// From another thread than the main one, as a network does.
    private func emit(_ numbers: some Sequence<Int> & Sendable) async {
        await Task.detached { self.lobby.emit(numbers) }.value
    }

    @Test
    @MainActor
    func `in a class of the main actor each publisher calls its closures there, in order`() async throws {
        let connection = try self.lobby.connect()
        var model: Model? = Model()
        weak let weakModel = model
        model?.listen(to: connection)
        #expect(model?.states == [.connected], "what is known already is told at once")
        await self.emit(1...600)
        try await model?.heard.entries { $0.count == 3 * 600 }
        for form in ["message", "value", "received"] {
            #expect(model?.heard.entries.filter { $0.hasPrefix(form) } == (1...600).map { "\(form) \($0)" })
        }
        #expect(model?.sum == 600 * 601 / 2)
        await Task.detached { self.lobby.hub.cut() }.value
        try await eventually { model?.states.count == 3 }
        #expect(model?.states == [.connected, .disconnected, .reconnecting])
        model = nil
        #expect(weakModel == nil)
    }

    @Test
    @MainActor
    func `a publisher that was made elsewhere calls those on the main actor that subscribe there`() async throws {
        let connection = try self.lobby.connect()
        let publisher = await Task.detached { connection.publisher(for: "number") }.value
        let heard = Journal<Int>("numbers")
        var sum = 0
        let subscription = publisher.compactMap(\.number).sink { number in
            MainActor.assertIsolated()
            sum += number
            heard.append(sum)
        }
        await self.emit(1...3)
        try await heard.entries { $0 == [1, 3, 6] }
        subscription.cancel()
    }

    @Test
    func `in an actor's method its closures run on the actor, which is not kept`() async throws {
        let connection = try self.lobby.connect()
        var feature: Feature? = Feature()
        weak let weakFeature = feature
        let heard = try #require(feature?.heard)
        await feature?.listen(to: connection)
        await self.emit(1...3)
        try await heard.entries { $0 == [1, 3, 6] }
        await feature?.stop()
        feature = nil
        try await eventually { weakFeature == nil }
    }

    @Test
    func `a blocked main actor holds up neither the connection nor another, and loses only what is too much`()
        async throws
    {
        let connection = try self.lobby.connect()
        let other = try self.lobby.connect()
        let (gate, heard, lost) = (DispatchSemaphore(value: 0), Journal<Int>("numbers"), Lock(0))
        let holder = await Holder()
        await MainActor.run {
            holder.subscription = connection.publisher(for: "number", capacity: 10) { missed in
                lost.withLock { $0 += missed }
            }.sink { message in
                if message.number == 0 { gate.wait() }
                heard.append(message.number ?? -1)
            }
        }
        let direct = Lock<[Int]>([])
        try other.on("number") { message in direct.withLock { $0.append(message.number ?? -1) } }
        await self.emit(0..<100)
        #expect(direct.withLock { $0 } == Array(0..<100))
        gate.signal()
        try await heard.entries { $0.last == 99 }
        #expect(heard.entries.suffix(10) == Array(90..<100))
        #expect(heard.entries.count + lost.withLock { $0 } == 100)
        await MainActor.run { holder.subscription = nil }
    }

    @Test
    @MainActor
    func `completion arrives on the main actor, after the waiting values`() async throws {
        let connection = try self.lobby.connect()
        let heard = Journal<String>("values and the end")
        let subscription = connection.publisher(for: .number).sink { _ in
            MainActor.assertIsolated()
            heard.append("end")
        } receiveValue: { value in
            MainActor.assertIsolated()
            heard.append("\((try? value.get()) ?? -1)")
        }
        await self.emit(1...3)
        await Task.detached { connection.release() }.value
        try await heard.entries { $0 == ["1", "2", "3", "end"] }
        withExtendedLifetime(subscription) {}
    }
}

@MainActor
private final class Holder {
    var subscription: AnyCancellable?
}

@MainActor
private final class Model {
    private(set) var states: [ConnectionState] = []
    private(set) var sum = 0
    let heard = Journal<String>("what the model hears")
    private var subscriptions: Set<AnyCancellable> = []

    func listen(to connection: ConnectionHandler) {
        connection.statePublisher.sink { [weak self] state in
            MainActor.assertIsolated()
            self?.states.append(state)
        }.store(in: &self.subscriptions)
        connection.publisher(for: "number").sink { [weak self] message in
            self?.note("message", message.number)
        }.store(in: &self.subscriptions)
        connection.publisher(for: .number).sink { [weak self] number in
            self?.sum += (try? number.get()) ?? 0
            self?.note("value", try? number.get())
        }.store(in: &self.subscriptions)
        connection.publisher(for: "number").map { [weak self] message in
            // Ahead of `receive(on:)`.
            self?.sum += 0
            return message.number
        }
        .receive(on: mainQueue)
        .sink { [weak self] number in self?.note("received", number) }
        .store(in: &self.subscriptions)
    }

    private func note(_ form: String, _ number: Int?) {
        MainActor.assertIsolated()
        self.heard.append("\(form) \(number ?? -1)")
    }
}

private actor Feature {
    private var sum = 0
    private var subscription: AnyCancellable?
    nonisolated let heard = Journal<Int>("what the actor hears")

    func listen(to connection: ConnectionHandler) {
        self.subscription = connection.publisher(for: "number").sink { message in
            self.preconditionIsolated()
            self.sum += message.number ?? 0
            self.heard.append(self.sum)
        }
    }

    func stop() { self.subscription = nil }
}

#if canImport(Combine)
private var mainQueue: DispatchQueue { .main }
#else
private var mainQueue: DispatchQueue.OCombine { DispatchQueue.main.ocombine }
#endif
#endif
