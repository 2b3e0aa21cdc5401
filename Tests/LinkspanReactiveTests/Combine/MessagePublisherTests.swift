#if canImport(Combine) || OpenCombine
internal import Linkspan
internal import LinkspanReactive
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

#if canImport(Combine)
internal import Combine
#else
internal import OpenCombine
#endif

extension Event where Value == Int, Reply == NoReply {
    fileprivate static var number: Self { Event("number") }
}

@Suite("Publishers of messages", .timeLimit(.minutes(1)))
struct MessagePublisherTests {
    let lobby = Lobby()

    @Test
    func `messages of the event come in order, others do not`() throws {
        let connection = try self.lobby.connect()
        let reader = Reader<Message>()
        connection.publisher(for: "number").subscribe(reader)
        self.lobby.emit(0..<100)
        self.lobby.emit([7], as: "other")
        #expect(reader.values.map(\.number) == Array(0..<100))
        #expect(reader.completions == 0)
    }

    @Test
    func `without a name every event comes`() throws {
        let connection = try self.lobby.connect()
        let reader = Reader<Message>()
        connection.publisher(for: nil).subscribe(reader)
        self.lobby.emit([1], as: "one")
        self.lobby.emit([2], as: "other")
        #expect(reader.values.map(\.event) == ["one", "other"])
    }

    @Test
    func `messages from before the first subscriber come first`() throws {
        let connection = try self.lobby.connect()
        self.lobby.emit(0..<3)
        let reader = Reader<Message>()
        connection.publisher(for: "number").subscribe(reader)
        self.lobby.emit(3..<5)
        #expect(reader.values.map(\.number) == [0, 1, 2, 3, 4])
    }

    @Test
    func `a value of another shape is an error among the values`() throws {
        let connection = try self.lobby.connect()
        let reader = Reader<Result<Int, LinkspanError>>()
        connection.publisher(for: .number).subscribe(reader)
        self.lobby.emit([1])
        self.lobby.hub.emit("number", .json("\"two\""))
        self.lobby.emit([3])
        let values = reader.values
        try #require(values.count == 3)
        #expect(try values[0].get() == 1)
        let error = #expect(throws: LinkspanError.self) { try values[1].get() }
        #expect(error?.code == .decodingFailed)
        #expect(try values[2].get() == 3)
    }

    @Test
    func `operators and sink do what they do over any publisher`() throws {
        let connection = try self.lobby.connect()
        let sums = Lock<[Int]>([])
        let sum = connection.publisher(for: "number").compactMap(\.number).scan(0, +).sink { value in
            sums.withLock { $0.append(value) }
        }
        self.lobby.emit(1...4)
        #expect(sums.withLock { $0 } == [1, 3, 6, 10])
        sum.cancel()
        self.lobby.emit([5])
        #expect(sums.withLock { $0 } == [1, 3, 6, 10])
    }

    @Test
    func `the end comes at the release, once, and not at an outage`() async throws {
        let connection = try self.lobby.connect()
        let reader = Reader<Message>()
        connection.publisher(for: "number").subscribe(reader)
        self.lobby.hub.cut()
        self.lobby.hub.restore()
        self.lobby.scheduler.advance(by: .seconds(60))
        self.lobby.emit([1])
        #expect(reader.values.map(\.number) == [1], "it goes on after the outage")
        #expect(reader.completions == 0)
        await self.lobby.manager.shutdown()
        #expect(reader.completions == 1)
        #expect(reader.violations == [])
        withExtendedLifetime(connection) {}
    }

    @Test
    func `the end waits behind messages that were not asked for yet`() async throws {
        let connection = try self.lobby.connect()
        let reader = Reader<Message>(.none)
        connection.publisher(for: "number").subscribe(reader)
        self.lobby.emit(0..<2)
        await self.lobby.manager.shutdown()
        #expect(reader.completions == 0)
        reader.request(1)
        #expect(reader.completions == 0)
        reader.request(1)
        #expect(reader.values.map(\.number) == [0, 1])
        #expect(reader.completions == 1, "no further demand is needed for the end")
        withExtendedLifetime(connection) {}
    }

    @Test
    func `a released connection or handler ends a new subscriber at once`() async throws {
        let connection = try self.lobby.connect()
        let other = try self.lobby.connect()
        other.release()
        let ofHandler = Reader<Message>()
        other.publisher(for: "number").subscribe(ofHandler)
        #expect(ofHandler.completions == 1)
        await self.lobby.manager.shutdown()
        let ofConnection = Reader<Message>(.none)
        connection.publisher(for: "number").subscribe(ofConnection)
        #expect(ofConnection.completions == 1)
    }

    @Test
    func `a released handler completes its own publishers once, and no others`() throws {
        let (connection, other) = (try self.lobby.connect(), try self.lobby.connect())
        let (messages, waiting) = (Reader<Message>(), Reader<Message>(.none))
        let (states, others) = (Reader<ConnectionState>(), Reader<Message>())
        connection.publisher(for: "number").subscribe(messages)
        connection.publisher(for: "number").subscribe(waiting)
        connection.statePublisher.subscribe(states)
        other.publisher(for: "number").subscribe(others)
        self.lobby.emit([1])
        connection.release()
        #expect(messages.completions == 1)
        #expect(states.completions == 1)
        #expect(states.values == [.connected], "the connection itself goes on")
        #expect(waiting.completions == 0)
        waiting.request(1)
        #expect(waiting.completions == 1, "behind what still waited")
        #expect(others.completions == 0)
        self.lobby.emit([2])
        #expect(messages.values.map(\.number) == [1])
        #expect(others.values.map(\.number) == [1, 2])
        connection.release()
        #expect(messages.completions == 1)
        #expect((messages.violations + waiting.violations + states.violations) == [])
    }

    @Test
    func `each subscriber of one publisher listens for itself`() throws {
        let connection = try self.lobby.connect()
        let publisher = connection.publisher(for: "number")
        let (one, other) = (Reader<Message>(), Reader<Message>())
        publisher.subscribe(one)
        self.lobby.emit([1])
        publisher.subscribe(other)
        self.lobby.emit([2])
        one.cancel()
        self.lobby.emit([3])
        #expect(one.values.map(\.number) == [1, 2])
        #expect(other.values.map(\.number) == [2, 3])
    }

    @Test
    func `a subscription keeps its channel until it is cancelled`() throws {
        weak var held: ConnectionHandler?
        let reader = Reader<Message>()
        do {
            let connection = try self.lobby.connect()
            held = connection
            connection.publisher(for: "number").subscribe(reader)
        }
        self.lobby.emit([1])
        #expect(reader.values.map(\.number) == [1])
        #expect(held != nil)
        reader.cancel()
        #expect(held == nil)
        self.lobby.emit([2])
        #expect(reader.values.count == 1)
        #expect(reader.completions == 0)
    }

    @Test
    func `a subscriber that goes away takes its subscription along`() throws {
        weak var held: ConnectionHandler?
        weak var gone: Reader<Message>?
        do {
            let connection = try self.lobby.connect()
            held = connection
            let reader = Reader<Message>()
            gone = reader
            let sink = connection.publisher(for: "number").handleEvents(receiveOutput: { _ in }).sink { _ in
                _ = reader.values
            }
            withExtendedLifetime(sink) {}
        }
        #expect(gone == nil)
        #expect(held == nil)
    }

    @Test
    func `nothing is left at the channel after a cancellation, an end, or a subscriber that went away`() async throws {
        let channel = CountingConnection(try self.lobby.connect())
        let (cancelled, ended) = (Reader<Message>(), Reader<Message>())
        channel.publisher(for: "number").subscribe(cancelled)
        channel.publisher(for: "number").subscribe(ended)
        let states = Reader<ConnectionState>()
        channel.statePublisher.subscribe(states)
        do {
            let sink = channel.publisher(for: "number").sink { _ in }
            #expect(channel.listeners == 8, "two for each publisher")
            withExtendedLifetime(sink) {}
        }
        #expect(channel.listeners == 6)
        cancelled.cancel()
        cancelled.cancel()
        #expect(channel.listeners == 4)
        await self.lobby.manager.shutdown()
        #expect(ended.completions == 1)
        #expect(states.completions == 1)
        #expect(channel.listeners == 0)
    }

    @Test
    func `cancelling during delivery leaves no subscription at the channel`() throws {
        let channel = CountingConnection(try self.lobby.connect())
        self.lobby.emit(0..<3)
        let reader = Reader<Message>(.max(1)) { reader, _ in
            reader.cancel()
            return .none
        }
        channel.publisher(for: "number").subscribe(reader)
        #expect(reader.values.count == 1, "it cancelled while messages from before were handed over")
        #expect(channel.listeners == 0)
    }
}
#endif
