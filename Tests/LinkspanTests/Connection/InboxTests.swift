@testable import Linkspan
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

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
