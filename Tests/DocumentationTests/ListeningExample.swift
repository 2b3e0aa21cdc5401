import LinkspanKit
import LinkspanTesting
import TestSupport
import Testing

// The examples of the article "Listening", word for word.

struct Quote: Codable, Sendable {
    var price: Int
}

extension Event where Value == Quote, Reply == NoReply {
    static var quote: Self { Event("quote") }
}

extension Event where Value == String, Reply == Quote {
    static var price: Self { Event("price") }
}

@MainActor
final class QuoteModel {
    private(set) var price: Int?
    private(set) var isUp = false

    func listen(to connection: ConnectionHandler) throws {
        try connection.values(.quote, capacity: 100).onEach { [weak self] quote in
            self?.price = try? quote.get().price
        }
        connection.stateChanges.onEach { [weak self] change in
            self?.isUp = change.to == .connected
        }
    }
}

actor PriceBoard {
    private(set) var latest: Quote?
    private var quotes: Subscription?

    func follow(_ connection: ConnectionHandler) throws {
        self.quotes = try connection.values(.quote, capacity: 100).onEach { quote in
            self.latest = try? quote.get()
        }
    }

    func stop() { self.quotes?.cancel() }
}

actor Ranking {
    private let connection: ConnectionHandler
    private(set) var best = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        self.connection.unownedExecutor
    }

    init(_ connection: ConnectionHandler) { self.connection = connection }

    func follow() throws {
        try self.connection.on("score", as: Int.self) { [weak self] score in
            self?.assumeIsolated { ranking in
                ranking.best = max(ranking.best, (try? score.get()) ?? 0)
            }
        }
    }
}

@Suite("The article on listening", .timeLimit(.minutes(1)))
struct ListeningExample {
    private let hub = InMemoryHub(executor: TestExecutor())
    private let recorder = EventRecorder()

    private func show(_ quote: Quote) { self.recorder.note("shown \(quote.price)") }
    private func remember(_ quote: Quote?) { self.recorder.note("remembered \(quote?.price ?? 0)") }
    private func report(_ error: LinkspanError) { self.recorder.note(error.code.rawValue) }
    private func log(_ line: String) { self.recorder.note(line) }
    private func skip(_ missed: Int) { self.recorder.note("skipped \(missed)") }
    private func store(_ message: Message) { self.recorder.note("stored \(message.payload.byteCount)") }
    private func reload() async throws { self.recorder.note("reloaded") }

    private func quote(_ prices: Int...) throws {
        for price in prices { self.hub.emit("quote", try Payload(Quote(price: price))) }
    }

    /// Compiled, not run: it would share its connection with everybody who asks for the same URL.
    private func connectForAll(_ transport: InMemoryTransport) throws -> ConnectionHandler {
        let connection = try ConnectionBuilder("memory://quotes").transport(transport)
            .connect()
        print(connection.explain())
        print(connection.status.description)
        return connection
    }

    /// Compiled, not run, as above.
    private func measure(_ transport: InMemoryTransport) throws {
        let connection = try ConnectionBuilder("memory://quotes").transport(transport)
            .options { options in
                options.probeEvent = "latency"
                options.probeInterval = .seconds(15)
            }
            .connect()
        if let roundTrip = connection.status.link?.roundTrip { log("\(roundTrip)") }
    }

    private func connect() throws -> ConnectionHandler {
        try ConnectionBuilder("memory://quotes").transport(.inMemory(self.hub))
            .connect(by: ConnectionManager())
    }

    private func listen(_ connection: ConnectionHandler) throws -> Subscription {
        let subscription = try connection.on(.quote) { quote in
            switch quote {
            case .success(let quote): show(quote)
            case .failure(let error): report(error)
            }
        }
        return subscription
    }

    private func listenOnce(_ connection: ConnectionHandler) async throws -> Quote {
        try connection.once(.quote) { quote in remember(try? quote.get()) }
        let first = try await connection.next(.quote, timeout: .seconds(5))
        return first
    }

    private func readJSON(_ connection: ConnectionHandler) throws -> [Subscription] {
        let moves = try connection.on("move", as: Arguments<String, Int>.self) { move in
            if let (piece, field) = try? move.get().values { log("\(piece) to \(field)") }
        }
        let filters = try connection.on("filter", as: PayloadValue.self) { filter in
            if let limit = try? filter.get()["price"]?["$lt"]?.double {
                log("below \(limit)")
            }
        }
        try connection.send("filter", PayloadValue(json: #"{"price":{"$lt":100}}"#))
        return [moves, filters]
    }

    private func latest(_ symbol: String) async -> Quote? { symbol == "SPAN" ? Quote(price: 7) : nil }

    private func answer(_ connection: ConnectionHandler) throws {
        try connection.answer(.price) { symbol in
            guard let quote = await latest(symbol) else {
                throw LinkspanError(.init(rawValue: "unknownSymbol"), "there is no \(symbol)")
            }
            return quote
        }
    }

    private func watch(_ connection: ConnectionHandler) throws {
        try connection.onAny { message in log("<- \(message.event)") }
        try connection.onAnyOutgoing { message in log("-> \(message.event)") }
    }

    private func listenElsewhere(_ connection: ConnectionHandler) throws {
        let queue = SystemScheduler.makeExecutor(label: "quotes")
        try connection.events("quote", capacity: 100).items.onEach(on: queue) { item in
            if case .message(let message) = item { store(message) }
        }
    }

    private func look(_ connection: ConnectionHandler) -> Subscription {
        if let link = connection.status.link {
            log("session \(link.sessionID ?? "unnamed"), resumed: \(link.isContinuous)")
            log("over \(link.facts["carrier"] ?? "memory")")
        }
        let attempts = connection.onStatusChange { change in
            if case .progress(.opening(let attempt)) = change { log("attempt \(attempt)") }
        }
        return attempts
    }

    private func read(_ connection: ConnectionHandler) async throws {
        let stream = try connection.events("quote", capacity: 100, overflow: .dropOldest)
        for await item in stream.items {
            switch item {
            case .message(let message): show(try message.decode(Quote.self))
            case .continuity(.continuous): continue
            case .continuity(.gap(.reconnected)): try await reload()
            case .continuity(.gap(.overflow(let missed))): skip(missed)
            }
        }
    }

    @Test
    func `the examples do what the article says`() async throws {
        let connection = try self.connect()
        try self.quote(1, 2)
        #expect(try await self.listenOnce(connection).price == 2, "the first is what once took")
        let subscription = try self.listen(connection)
        try self.quote(3)
        self.hub.emit("quote", try Payload("cheap"))
        subscription.cancel()
        _ = try self.listen(connection)
        connection.off(.quote)
        try self.watch(connection)
        try self.quote(4)
        try connection.send("order", 1)
        #expect(self.recorder.notes == ["remembered 1", "shown 3", "decodingFailed", "<- quote", "-> order"])
        #expect(connection.status.description.contains("created -> connected"))
        connection.release()
    }

    @Test
    @MainActor
    func `a model of the main actor and a queue hear quotes`() async throws {
        let connection = try self.connect()
        let model = QuoteModel()
        try model.listen(to: connection)
        try self.listenElsewhere(connection)
        try self.quote(7)
        try await self.recorder.wait(for: "the quote on the queue") { !$0.isEmpty }
        try await eventually { model.price == 7 && model.isUp }
        connection.release()
    }

    @Test
    func `an actor hears quotes until it stops, and is gone then`() async throws {
        let connection = try self.connect()
        var board: PriceBoard? = PriceBoard()
        weak let kept = board
        try await board?.follow(connection)
        try self.quote(7)
        try await eventually { await board?.latest?.price == 7 }
        await board?.stop()
        board = nil
        try await eventually { kept == nil }
        connection.release()
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a task and an actor live on the executor`() async throws {
        self.hub.onConnect { peer in peer.onOther { $0.reply($0.payload) } }
        let (connection, pages) = (try self.connect(), 4)
        let total = try await Task(executorPreference: connection.executor) {
            var total = 0
            for page in 1...pages {
                total += try await connection.request("count", page).decode(Int.self)
            }
            return total
        }.value
        #expect(total == 10)
        let ranking = Ranking(connection)
        try await ranking.follow()
        for score in [3, 7, 5] { self.hub.emit("score", try Payload(score)) }
        #expect(await ranking.best == 7)
        connection.release()
    }

    @Test
    func `the link and the attempts are seen`() throws {
        let connection = try self.connect()
        let attempts = self.look(connection)
        try connection.disconnect()
        try connection.connect()
        #expect(self.recorder.notes.prefix(2).last == "over memory")
        #expect(self.recorder.notes.last == "attempt 1")
        attempts.cancel()
    }

    @Test
    func `a reader sees messages and gaps`() async throws {
        let connection = try self.connect()
        let reader = Task { try await self.read(connection) }
        // Both before and after it began to read, because held messages have their marks too.
        try self.quote(1)
        try connection.disconnect()
        try connection.connect()
        try self.quote(2)
        try await self.recorder.wait(for: "both quotes") { entries in
            entries.contains { if case .note("shown 2") = $0 { true } else { false } }
        }
        connection.release()
        try await reader.value
        #expect(self.recorder.notes == ["shown 1", "reloaded", "shown 2"])
    }

    @Test
    func `JSON and answers work as the article says`() async throws {
        let (answers, heard) = AsyncStream.makeStream(of: String.self)
        self.hub.onConnect { peer in
            peer.on("filter") { message in peer.emit("filter", message.payload) }
            peer.on("ready") { _ in
                try? peer.emit("move", "king", 7)
                for symbol in ["SPAN", "LINK"] {
                    guard let question = try? Payload(symbol) else { continue }
                    peer.ask("price", question) { heard.yield(String(decoding: $0.elements, as: UTF8.self)) }
                }
            }
        }
        let connection = try self.connect()
        let subscriptions = try self.readJSON(connection)
        try self.answer(connection)
        try connection.send("ready")
        var iterator = answers.makeAsyncIterator()
        let told = Set([await iterator.next(), await iterator.next()])
        #expect(
            told == [#"{"price":7}"#, #"{"error":{"code":"unknownSymbol","message":"there is no LINK"}}"#])
        #expect(self.recorder.notes == ["below 100.0", "king to 7"])
        for subscription in subscriptions { subscription.cancel() }
        connection.release()
    }
}
