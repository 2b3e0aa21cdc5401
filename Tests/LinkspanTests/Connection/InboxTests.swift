internal import Dispatch
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@testable import Linkspan

/// A connection whose executor is busy with something else while the app sends.
@Suite("The inbox of a busy executor", .timeLimit(.minutes(1)))
struct InboxTests {
    /// An executor that runs nothing until it is told to.
    private final class BusyExecutor: JobExecutor {
        private let jobs = Lock<(waiting: [@Sendable () -> Void], isRunning: Bool)>(([], false))

        var isCurrent: Bool { self.jobs.withLock { $0.isRunning } }

        func execute(_ job: @escaping @Sendable () -> Void) { self.jobs.withLock { $0.waiting.append(job) } }

        /// Runs the jobs there are, and those that they give.
        func run() {
            self.jobs.withLock { $0.isRunning = true }
            while let job = self.jobs.withLock({ $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }) { job() }
            self.jobs.withLock { $0.isRunning = false }
        }
    }

    private let executor = BusyExecutor()
    private let hub: InMemoryHub
    private let recorder = EventRecorder()

    init() { self.hub = InMemoryHub(executor: self.executor) }

    private func connect(_ options: (inout ConnectionOptions) -> Void = { _ in }) throws -> ConnectionHandler {
        try ConnectionBuilder("memory://busy").transport(.inMemory(self.hub))
            .options(options).connect(by: ConnectionManager(options: .init { $0.scheduler = VirtualScheduler() }))
    }

    @Test
    func `the executor is told once until it takes what has arrived, and a key that has gone needs room again`() throws
    {
        let transport = InstantTransport()
        let configuration = try ConnectionBuilder("instant://server").transport(transport)
            .options { $0.buffer.commands = 2 }.build()
        let inbox = ConnectionInbox(
            executor: transport.executor, destination: Destination(configuration), waiting: ConnectionLoad())
        func command(_ event: String, replacing key: String? = nil) -> Command {
            var command = Command(.send, event: event, payload: .empty)
            command.replacing = key
            return command
        }
        var waiting = ConnectionLoad()
        for number in 1...2 {
            let cursor = command("cursor", replacing: "cursor")
            #expect(try inbox.submit(cursor, made: nil) != nil)
            #expect(try inbox.submit(command("say"), made: nil) == nil)
            #expect(inbox.takeItems(on: transport.executor)?.count == 2)
            if number == 1 {
                inbox.publish(ConnectionLoad(), keys: [KeyChange(key: "cursor", byteCount: nil)], isOpen: false)
            }
        }
        // The cursor has left, and two others wait.
        for _ in 1...2 { waiting.add(command("say")) }
        inbox.publish(waiting, keys: [KeyChange(key: "cursor", byteCount: nil)], isOpen: false)
        let error = #expect(throws: LinkspanError.self) {
            try inbox.submit(command("cursor", replacing: "cursor"), made: nil)
        }
        #expect(error?.code == .bufferFull)
    }

    @Test(arguments: [Command.Kind.send, .request])
    func `the time of a command counts from its call, and not from its turn on the executor`(
        kind: Command.Kind
    ) throws {
        self.hub.onConnect { _ throws(LinkspanError) in throw .lost }
        let scheduler = VirtualScheduler()
        // A request has a time without being given one.
        let handler = try ConnectionBuilder("memory://busy").transport(.inMemory(self.hub))
            .options { $0.replyTimeout = .seconds(5) }
            .connect(by: ConnectionManager(options: .init { $0.scheduler = scheduler }))
        try handler.perform(
            Command(
                kind, event: "e", payload: .empty, timeout: kind == .send ? .seconds(5) : nil,
                completion: self.recorder.completion("e")))
        for seconds in [4, 2] {
            scheduler.advance(by: .seconds(seconds))
            self.executor.run()
        }
        #expect(self.recorder.outcomes("e").count == 1)
    }

    @Test
    func `a call shows at once, and the next is judged by it`() throws {
        let handler = try self.connect()
        #expect(handler.status.progress == .obtainingCredentials(attempt: 1))
        var error = #expect(throws: LinkspanError.self) { try handler.connect() }
        #expect(error?.code == .wrongState)
        self.executor.run()
        #expect(handler.status.state == .connected && handler.status.link != nil)
        try handler.disconnect()
        #expect(handler.status.state == .disconnected && handler.status.progress == .idle)
        handler.connection.inbox.withState { $0.resumption = Secret("former") }
        #expect(handler.status.link == nil && handler.status.resumption == nil)
        try handler.reconnectNow()
        #expect(handler.status.state == .reconnecting)
        #expect(handler.status.progress == .obtainingCredentials(attempt: 1))
        error = #expect(throws: LinkspanError.self) { try handler.connect() }
        #expect(error?.code == .wrongState)
        self.executor.run()
        #expect(handler.status.state == .connected)
    }

    @Test
    func `what has not begun to connect cannot be disconnected`() throws {
        let configuration = try ConnectionBuilder("memory://busy").transport(.inMemory(self.hub)).build()
        let handler = try ConnectionManager(options: .init { $0.scheduler = VirtualScheduler() }).prepare(configuration)
        let error = #expect(throws: LinkspanError.self) { try handler.disconnect() }
        #expect(error?.code == .wrongState && handler.status.state == .created)
    }

    @Test
    func `an attempt that a call begins shows its number, and no failure any more`() throws {
        let refusal = Lock<LinkspanError>(.lost)
        self.hub.onConnect { _ throws(LinkspanError) in throw refusal.withLock { $0 } }
        let handler = try self.connect()
        self.executor.run()
        #expect(handler.status.state == .reconnecting)
        try handler.reconnectNow()
        #expect(handler.status.progress == .obtainingCredentials(attempt: 2))
        refusal.withLock { $0 = .permanent }
        self.executor.run()
        #expect(handler.status.state == .disconnected && handler.status.lastError?.code == .tlsFailed)
        try handler.connect()
        #expect(handler.status.state == .reconnecting)
        #expect(handler.connection.inbox.withState { $0.shown.value.failure } == nil)
    }

    @Test(arguments: [BufferLimits.Overflow.dropOldest, .dropNewest])
    func `a rule that drops bounds the bytes on their way, and each command has its outcome`(
        _ overflow: BufferLimits.Overflow
    ) throws {
        let handler = try self.connect { $0.buffer = BufferLimits(commands: 1_000, bytes: 4_096, overflow: overflow) }
        let text = String(repeating: "x", count: 1_000)
        for number in 0..<100 {
            let payload = try Payload(text)
            try handler.perform(
                Command(.send, event: "e", payload: payload, completion: self.recorder.completion("\(number)")))
            #expect(handler.status.waitingCommands <= 4)
        }
        self.executor.run()
        #expect(Set(self.recorder.endedLabels).count >= 96)
        for number in 0..<100 { #expect(self.recorder.outcomes("\(number)").count <= 1) }
    }

    @Test
    func `volatile commands are refused when too many are on their way`() throws {
        let handler = try self.connect()
        var refused: [LinkspanError.Code] = []
        for number in 0..<20_000 {
            do throws(LinkspanError) {
                try handler.send("position", number, volatile: true)
            } catch {
                refused.append(error.code)
            }
        }
        #expect(refused == Array(repeating: .bufferFull, count: 20_000 - 16_384))
        withExtendedLifetime(handler) {}
    }

    @Test
    func `what is on its way to an open link may take as much room as the buffer has`() throws {
        self.hub.onConnect { [recorder] peer in peer.on("line") { recorder.note($0.payload.text) } }
        let handler = try self.connect { $0.buffer.commands = 20_000 }
        self.executor.run()
        for number in 0..<20_000 { try handler.send("line", number) }
        let error = #expect(throws: LinkspanError.self) { try handler.send("line", 20_000) }
        #expect(error?.code == .bufferFull)
        self.executor.run()
        #expect(self.recorder.notes == (0..<20_000).map(String.init))
    }

    @Test
    func `commands that replace one another take the place of those on their way when these are too many`() throws {
        self.hub.onConnect { [recorder] peer in peer.on("cursor") { recorder.note($0.payload.text) } }
        let handler = try self.connect()
        for number in 0..<20_000 { try handler.send("cursor", number, replacing: "cursor") }
        #expect(handler.status.waitingCommands == 16_384)
        self.executor.run()
        #expect(self.recorder.notes == ["19999"])
    }
}

/// A call from inside a callback takes effect behind the calls that other threads have made before it.
@Suite("Calls from inside a callback", .timeLimit(.minutes(1)))
struct InTurnTests {
    private let hub = InMemoryHub()
    private let manager = ConnectionManager()
    private let recorder = EventRecorder()

    /// A connection to a server that answers each question and notes what arrives.
    private func connected() async throws -> ConnectionHandler {
        let recorder = self.recorder
        self.hub.onConnect { peer in
            peer.onOther {
                recorder.note("arrived: \($0.event)")
                $0.reply($0.payload)
            }
        }
        return try await ConnectionBuilder("memory://server").transport(.inMemory(self.hub)).connect(by: self.manager)
            .connected(within: .seconds(30))
    }

    /// Does something on another thread, and waits until it is done.
    private static func elsewhere(_ body: @escaping @Sendable () -> Void) {
        let end = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            body()
            end.signal()
        }
        end.wait()
    }

    @Test
    func `a request of another thread is cancelled, though it has not left the inbox`() async throws {
        let (handler, recorder) = (try await self.connected(), self.recorder)
        let request = Command(.request, event: "question", payload: .empty, completion: recorder.completion("question"))
        try handler.on("event") { _ in
            Self.elsewhere { try? handler.perform(request) }
            handler.cancel(request.id)
        }
        self.hub.emit("event", .empty)
        try await recorder.wait(for: "the outcome") { _ in !recorder.outcomes("question").isEmpty }
        #expect(recorder.failure("question")?.code == .cancelled)
        await self.manager.shutdown()
    }

    @Test
    func `a listener of another thread is taken off, though it has not left the inbox`() async throws {
        let (handler, recorder) = (try await self.connected(), self.recorder)
        let added = Lock<Subscription?>(nil)
        try handler.on("event") { _ in
            Self.elsewhere {
                let listener = try? handler.on("other") { _ in recorder.note("heard") }
                added.withLock { $0 = listener }
            }
            added.withLock { $0 }?.cancel()
            recorder.note("end")
        }
        try handler.on("last") { _ in recorder.note("last") }
        for event in ["event", "other", "last"] { self.hub.emit(event, .empty) }
        try await recorder.wait(for: "the last event") { _ in recorder.notes.contains("last") }
        #expect(added.withLock { $0 } != nil)
        #expect(recorder.notes == ["end", "last"])
        await self.manager.shutdown()
    }

    @Test
    func `a connection that another thread has had connect is disconnected`() async throws {
        let (handler, recorder) = (try await self.connected(), self.recorder)
        let first = Lock<Void?>(())
        handler.onStateChange { change in
            guard change.to == .disconnected, first.withLock({ $0.take() }) != nil else { return }
            Self.elsewhere { recorder.note((try? handler.connect()) == nil ? "not asked" : "asked") }
            try? handler.disconnect()
            recorder.note("end")
        }
        try handler.disconnect()
        try await recorder.wait(for: "the end") { _ in recorder.notes == ["asked", "end"] }
        // Told behind all that was there before.
        handler.onStatusChange { _ in recorder.note("told") }
        try await recorder.wait(for: "the state") { _ in recorder.notes.contains("told") }
        #expect(handler.state == .disconnected)
        await self.manager.shutdown()
    }
}
