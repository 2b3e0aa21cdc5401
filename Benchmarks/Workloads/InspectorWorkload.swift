import Foundation
import Linkspan
import LinkspanInspector
import LinkspanMessaging
import LinkspanSocketIO
import LinkspanWebSocket
import Synchronization

/// W1 of an app with services: without an inspector, with one that nobody looks at, and with one whose page is open.
///
/// The page is a process of its own, as a browser is. The three take turns, and the medians of their processor times are
/// compared.
enum InspectorWorkload {
    private enum Mode: String, CaseIterable {
        case none = "W1 services"
        case closed = "W1 inspector"
        case open = "W1 page"
    }

    private static let rounds = 5

    static func run(port: Int, server: EchoServer) async throws {
        var costs: [Mode: [Double]] = [:]
        for _ in 0..<Self.rounds {
            for mode in Mode.allCases {
                costs[mode, default: []].append(try await Self.run(mode, port: port, server: server))
            }
        }
        let medians = costs.mapValues { $0.sorted()[Self.rounds / 2] }
        guard let base = medians[.none], let closed = medians[.closed], let open = medians[.open] else { return }
        print(
            String(
                format: "inspector: %.3f times the processor time without a page, %.3f times with one", closed / base,
                open / base))
    }

    /// Returns the seconds of processor time for a message.
    private static func run(_ mode: Mode, port: Int, server: EchoServer) async throws -> Double {
        let (urls, announced) = AsyncStream<String>.makeStream()
        let inspector = InspectorService { announced.yield($0) }
        let plan = MessagingPlan(
            url: "http://127.0.0.1:\(port)", transport: .socketIO, services: mode == .none ? [] : [inspector])
        let messaging = try await Messaging.start(plan)
        let connection = try await messaging.connect()
        var page: Process?
        if mode == .open {
            for await url in urls {
                page = try Self.openPage(url)
                // There is another URL once the page has used the first.
                while await inspector.url == url { try await Task.sleep(for: .milliseconds(10)) }
                break
            }
        }
        let text = String(repeating: "x", count: 64)
        let window = Window { try? connection.send("echo", text) }
        try connection.on("echo") { message in
            precondition(message.payload[0]?.text.count == 66, "the echo is not what was sent")
            window.cameBack()
        }
        let count = 200_000
        await window.run(count / 20, width: 64)
        let measurement = Measurement(server: server)
        let before = ProcessUsage.now.cpu
        await window.run(count, width: 64)
        let cost = (ProcessUsage.now.cpu - before) / Double(count)
        measurement.report(mode.rawValue, messages: count)
        page?.terminate()
        await messaging.stop()
        return cost
    }

    private static func openPage(_ url: String) throws -> Process {
        let page = Process()
        page.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        page.arguments = ["page=\(url)"]
        page.standardOutput = FileHandle.nullDevice
        try page.run()
        return page
    }

    /// Reads the feed of an inspector until the process is ended; returns false unless the argument asks for that.
    static func runPage(_ argument: String) async throws -> Bool {
        guard argument.hasPrefix("page=") else { return false }
        let feed = try Self.openFeed(String(argument.dropFirst("page=".count)))
        for await batch in try feed.events("text") { precondition(batch.message.payload[0] != nil, "no batch") }
        return true
    }

    /// Opens the feed of an inspector, whose batches are the messages `text`.
    static func openFeed(_ url: String) throws -> ConnectionHandler {
        let feed = url.replacing("http://", with: "ws://", maxReplacements: 1)
            .replacing("/?", with: "/feed?", maxReplacements: 1)
        let transport = WebSocketTransport(.init { $0.protocol = TextMessageProtocol() })
        return try ConnectionBuilder(feed).transport(transport).connect()
    }
}
