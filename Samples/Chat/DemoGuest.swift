import Foundation
import Linkspan
import LinkspanMessaging
import LinkspanTerminal

/// One of the two people of the tour.
@available(macOS 15, *)
struct DemoGuest {
    private let name: String
    private let rooms: RoomsService
    /// Held so that its listeners go on.
    private let connection: ConnectionHandler
    private let messaging: Messaging
    private let following: Task<Void, Never>
    private let heard: AsyncStream<String>
    /// Each time the server lets the guest into the room.
    private let entries: AsyncStream<Void>
    /// The reported outcome of the connection.
    private let changes: AsyncStream<ConnectionState>

    /// Enters a room, and returns when the server has let the guest in.
    static func enter(_ name: String, _ plan: MessagingPlan, _ wire: DemoWire) async throws -> DemoGuest {
        let visitor = Visitor(name: name, room: wire.room)
        var plan = plan
        let chatNews = ChatNews()
        let rooms = RoomsService(visitor, chatNews)
        plan.credentials = visitor.credentials
        plan.services = [PlannedService(rooms)]
        // Keeps the demo short.
        plan.options.retry = .backoff(initial: .milliseconds(200), earlyCap: .milliseconds(500))
        let messaging = try await Messaging.start(plan)
        let connection = try await messaging.connect()
        let (changes, change) = AsyncStream<ConnectionState>.makeStream()
        let url = connection.status.url
        _ = connection.onStateChange { news in
            let sentence = ConnectionNews.sentence(for: news, over: wire.name, to: url)
            if let sentence { LineOutput.news("\(name): \(sentence)") }
            change.yield(news.to)
        }
        let guest = DemoGuest(name, rooms, chatNews, messaging, connection, changes)
        await guest.wait { $0 == .connected }
        // A raw WebSocket is open before the server knows who it is.
        for await _ in guest.entries { break }
        return guest
    }

    private init(
        _ name: String, _ rooms: RoomsService, _ chatNews: ChatNews, _ messaging: Messaging,
        _ connection: ConnectionHandler, _ changes: AsyncStream<ConnectionState>
    ) {
        self.name = name
        self.rooms = rooms
        self.connection = connection
        self.messaging = messaging
        self.changes = changes
        let (heard, ear) = AsyncStream<String>.makeStream()
        let (entries, entry) = AsyncStream<Void>.makeStream()
        self.heard = heard
        self.entries = entries
        // No parent can own this task: it has the life of the guest, and `leave` ends it.
        self.following = Task {
            for await event in chatNews.events {
                if case .entered = event { entry.yield() }
                guard case .line(let line) = event else { continue }
                LineOutput.show("  \(name)'s screen   \(line.from): \(line.text)")
                ear.yield(line.text)
            }
        }
    }

    func say(_ text: String) async throws {
        LineOutput.show("  \(self.name) types      \(text)")
        try await self.rooms.say(text)
    }

    /// The next lines that this guest receives.
    func hear(_ count: Int) async -> [String] {
        var lines: [String] = []
        for await line in self.heard {
            lines.append(line)
            if lines.count == count { break }
        }
        return lines
    }

    /// Returns when the loss of the link was reported.
    func isLost() async {
        await self.wait { $0 == .reconnecting }
    }

    private func wait(until fits: (ConnectionState) -> Bool) async {
        for await state in self.changes where fits(state) { break }
    }

    func leave() async {
        _ = await self.rooms.lines.drain(within: .seconds(2))
        self.following.cancel()
        await self.messaging.stop()
    }
}

/// A chat of the tour in a process of its own, which is killed.
@available(macOS 15, *)
final class DemoVictim: Sendable {
    private let process: Process
    private let input: FileHandle
    private let lines: AsyncStream<String>
    private let end: AsyncStream<Int32>

    /// Starts this program again, with other arguments.
    init(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = Bundle.main.executableURL
        process.arguments = arguments
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        let (end, ended) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = { ended.yield($0.terminationStatus) }
        try process.run()
        self.process = process
        self.input = input.fileHandleForWriting
        self.end = end
        let file = output.fileHandleForReading
        self.lines = AsyncStream { lines in
            // A read cannot be cancelled; it ends with the process.
            Thread.detachNewThread {
                var rest = Data()
                while case let data = file.availableData, !data.isEmpty {
                    rest.append(data)
                    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                        lines.yield(String(decoding: rest[rest.startIndex..<end], as: UTF8.self))
                        rest.removeSubrange(rest.startIndex...end)
                    }
                }
                lines.finish()
            }
        }
    }

    func type(_ line: String) throws { try self.input.write(contentsOf: Data("\(line)\n".utf8)) }

    func endInput() throws { try self.input.close() }

    /// Shows its output until this text appears or it ends.
    func show(until last: String? = nil) async {
        for await line in self.lines {
            LineOutput.show("  ann's process  \(line)")
            if line == last { break }
        }
    }

    /// Ends it without a chance to do anything, and returns when it is gone.
    func kill() async {
        _ = Foundation.kill(self.process.processIdentifier, SIGKILL)
        _ = await self.exit()
    }

    /// Waits until it has ended.
    ///
    /// - Returns: its status.
    func exit() async -> Int32 {
        for await status in self.end { return status }
        return -1
    }
}
