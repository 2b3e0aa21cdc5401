import Foundation
import Linkspan
import LinkspanInspector
import LinkspanLifecycle
import LinkspanMessaging
import LinkspanSocketIO
import LinkspanWebSocket

/// Many connections and 100 services under an inspector whose page is open: the memory that it takes, and the time
/// between the batches that the page gets.
///
/// All connections together echo 50,000 messages a second for half a minute. The same without an inspector runs in a
/// process of its own, for the memory of everything else.
enum InspectorLoadWorkload {
    /// A service that does nothing.
    private struct IdleService: LifecycleService {
        let name: ServiceName
    }

    private static let rate = 50_000
    private static let services = 100
    /// As many connections at a time as are opened at once.
    private static let batch = 200
    private static let tick = Duration.milliseconds(10)
    private static let ticks = 3_000

    /// Runs with an inspector, beside the same without one.
    static func run(_ count: Int, server: EchoServer) async throws {
        let alone = try Self.start(["--server", "\(server.port)", "inspector-none=\(count)"])
        guard let bare = try alone.words(after: "resident").first.flatMap({ Int($0) }) else {
            return print("inspector: the process without an inspector failed")
        }
        let (urls, announced) = AsyncStream<String>.makeStream()
        let inspector = InspectorService { announced.yield($0) }
        let messaging = try await Self.messaging([inspector], server: server)
        let connections = try await Self.connect(count, messaging, server: server)
        let page = try await Self.openPage(urls, of: inspector)
        let messages = await Self.work(connections)
        let resident = ProcessUsage.residentBytes
        page.process.terminate()
        let growth = Double(resident - bare) / Double(1 << 20)
        print(
            String(
                format: "inspector: %d connections, %d services, %d messages/s: %.1f MiB more memory; %@", count,
                Self.services, messages * 100 / Self.ticks, growth,
                try page.words(after: "batches").joined(separator: " ")))
        await messaging.stop()
    }

    /// Runs without an inspector, and prints the memory.
    static func runBare(_ count: Int, server: EchoServer) async throws {
        let messaging = try await Self.messaging([], server: server)
        let connections = try await Self.connect(count, messaging, server: server)
        _ = await Self.work(connections)
        print("resident \(ProcessUsage.residentBytes)")
        await messaging.stop()
    }

    private static func messaging(
        _ own: [any LifecycleService], server: EchoServer
    ) async throws -> Messaging {
        let idle = (0..<Self.services).map { IdleService(name: ServiceName("idle\($0)")) }
        return try await Messaging.start(
            MessagingPlan(url: "http://127.0.0.1:\(server.port)", transport: .socketIO, services: own + idle))
    }

    private static func connect(
        _ count: Int, _ messaging: Messaging, server: EchoServer
    ) async throws -> [ConnectionHandler] {
        let transport = SocketIOTransport(
            .init {
                $0.network = Network.current
                $0.isMultiplexed = false
            })
        var connections: [ConnectionHandler] = []
        for start in stride(from: 0, to: count, by: Self.batch) {
            let more = try (start..<min(start + Self.batch, count)).map { number in
                try ConnectionBuilder("http://127.0.0.1:\(server.port)/?n=\(number)").transport(transport)
                    .connect(by: messaging.manager)
            }
            for connection in more { try await connection.connected() }
            connections += more
        }
        return connections
    }

    /// Sends at the rate, over all connections in turn; returns the number of messages both ways.
    private static func work(_ connections: [ConnectionHandler]) async -> Int {
        let text = String(repeating: "x", count: 64)
        let start = ContinuousClock.now
        var next = 0
        for tick in 0..<Self.ticks {
            for _ in 0..<Self.rate / 200 {
                try? connections[next % connections.count].send("echo", text)
                next += 1
            }
            try? await Task.sleep(until: start + Self.tick * (tick + 1))
        }
        return next * 2
    }

    // MARK: Processes

    private struct Child {
        let process: Process
        let output: Pipe

        /// The words of the line that begins so.
        func words(after head: String) throws -> [Substring] {
            let text = String(decoding: try self.output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            let line = text.split(separator: "\n").first { $0.hasPrefix(head) }
            return line?.split(separator: " ").dropFirst().map { $0 } ?? []
        }
    }

    private static func start(_ arguments: [String]) throws -> Child {
        let child = Child(process: Process(), output: Pipe())
        child.process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        child.process.arguments = arguments
        child.process.standardOutput = child.output
        try child.process.run()
        return child
    }

    /// Opens the page, and waits until it has used the URL.
    private static func openPage(_ urls: AsyncStream<String>, of inspector: InspectorService) async throws -> Child {
        for await url in urls {
            let page = try Self.start(["timed-page=\(url)"])
            while await inspector.url == url { try await Task.sleep(for: .milliseconds(10)) }
            print("inspector: another page may be opened at \(await inspector.url ?? "")")
            return page
        }
        return Child(process: Process(), output: Pipe())
    }

    /// Reads the feed of an inspector until SIGTERM, then tells of the times between batches; false for another argument.
    static func runPage(_ argument: String) async throws -> Bool {
        guard argument.hasPrefix("timed-page=") else { return false }
        let feed = try InspectorWorkload.openFeed(String(argument.dropFirst("timed-page=".count)))
        let batches = try feed.events("text")
        signal(SIGTERM, SIG_IGN)
        let (ends, end) = AsyncStream<Void>.makeStream()
        let source = DispatchSource.makeSignalSource(signal: SIGTERM)
        source.setEventHandler { end.finish() }
        source.resume()
        let reading = Task {
            var (gaps, largest): ([Duration], Int) = ([], 0)
            var last: ContinuousClock.Instant?
            for await batch in batches {
                let now = ContinuousClock.now
                if let last { gaps.append(last.duration(to: now)) }
                (last, largest) = (now, max(largest, batch.message.payload.byteCount))
                if Task.isCancelled { break }
            }
            return (gaps.sorted(), largest)
        }
        for await _ in ends {}
        reading.cancel()
        let (gaps, largest) = await reading.value
        guard let longest = gaps.last else { return true }
        func milliseconds(_ gap: Duration) -> Int { Int((gap / .milliseconds(1)).rounded()) }
        print(
            "batches \(gaps.count) batches, p50 \(milliseconds(gaps[gaps.count / 2])),"
                + " p99 \(milliseconds(gaps[gaps.count * 99 / 100])), max \(milliseconds(longest)) ms apart,"
                + " at most \(largest / 1_024) KiB")
        return true
    }
}
