import ArgumentParser
import Foundation
import Linkspan
import LinkspanDevServer
import LinkspanInMemory
import LinkspanMessaging
import LinkspanNetwork
import LinkspanSocketIO
import LinkspanTerminal
import LinkspanWebSocket

/// The command `chat demo`.
@available(macOS 15, *)
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "A tour of the SDK in some seconds, without any server.",
        discussion: """
            Two people talk: through a hub inside this process, then to a server on this machine over Socket.IO and raw \
            WebSockets. Each time the link drops, both keep typing, it comes back, and everything arrives in order. At last \
            a chat with an outbox is killed with lines waiting, and started again. \
            Ends by itself with status 0.
            """)

    /// The whole tour is over within this time, or it has failed.
    private static let limit = Duration.seconds(40)

    @OptionGroup var network: NetworkFlag

    func run() async throws {
        let network = self.network.backEnd
        let isComplete = await withTaskGroup(of: Bool.self) { group in
            group.addTask { (try? await DemoTour(network).run()) ?? false }
            group.addTask {
                try? await Task.sleep(for: Self.limit)
                return false
            }
            let first = await group.next() ?? false
            group.cancelAll()
            return first
        }
        guard isComplete else {
            LineOutput.complain("the demo failed; please report it")
            throw ExitCode.failure
        }
    }
}

/// The tour that `chat demo` gives: the same two people and the same outage, on one wire after the other.
@available(macOS 15, *)
struct DemoTour {
    /// Lines that each of the two types while the link is down.
    private static let offline = 3

    private let chat: ChatHub
    private let server: DevServer

    /// The library under both sides.
    private let network: NetworkBackEnd

    init(_ network: NetworkBackEnd) {
        self.network = network
        self.chat = ChatHub()
        self.server = DevServer(hub: self.chat.hub, configuration: .init { $0.network = network })
    }

    /// Gives the tour.
    ///
    /// - Returns: whether everything arrived, in order.
    func run() async throws -> Bool {
        try await self.server.start()
        var results: [(name: String, typed: Int, arrived: Int)] = []
        #if OUTBOX
        let acts = DemoWire.allCases.count + 1
        #else
        let acts = DemoWire.allCases.count
        #endif
        for (number, wire) in DemoWire.allCases.enumerated() {
            self.tell("\(number + 1) of \(acts): \(wire.introduction)", isFirst: number == 0)
            results.append((wire.name, 2 * Self.offline, try await self.visit(wire)))
        }
        #if OUTBOX
        self.tell("\(acts) of \(acts): an outbox. Ann's chat is a process of its own, and will be killed.")
        results.append(("outbox, after kill -9", Self.offline, try await self.killAnn()))
        #endif
        await self.server.stop()
        return self.sum(results)
    }

    /// Begins a paragraph of the tour: the lines that a sentence introduces follow at once.
    private func tell(_ sentence: String, isFirst: Bool = false) {
        if !isFirst { LineOutput.show("") }
        LineOutput.show(sentence)
    }

    private func sum(_ results: [(name: String, typed: Int, arrived: Int)]) -> Bool {
        self.tell("What was typed while the link was down:")
        for (name, typed, arrived) in results {
            let padded = name + String(repeating: " ", count: max(0, 24 - name.count))
            LineOutput.show("  \(padded) \(arrived) of \(typed) lines arrived, in order")
        }
        let (all, arrived) = (results.reduce(0) { $0 + $1.typed }, results.reduce(0) { $0 + $1.arrived })
        self.tell(
            arrived == all
                ? "\(all) lines were typed while the link was down; \(all) arrived, in order, without a line of code for it."
                : "Lines were lost or out of order: \(arrived) of \(all) arrived in order.")
        return arrived == all
    }

    /// Lets two people talk on a wire, with an outage in the middle.
    ///
    /// - Returns: how many of the lines that were typed meanwhile arrived in their place.
    private func visit(_ wire: DemoWire) async throws -> Int {
        let ann = try await DemoGuest.enter("ann", self.plan(wire), wire)
        let bob = try await DemoGuest.enter("bob", self.plan(wire), wire)
        try await ann.say("hello bob, is this thing on?")
        let greeting = await bob.hear(1)
        try await bob.say("loud and clear")
        let answer = await ann.hear(1)

        await self.fail(wire)
        await ann.isLost()
        await bob.isLost()
        for number in 1...Self.offline {
            try await ann.say("typed offline, line \(number)")
            try await bob.say("me too, line \(number)")
        }
        try await self.recover(wire)
        let toBob = await bob.hear(Self.offline)
        let toAnn = await ann.hear(Self.offline)
        await ann.leave()
        await bob.leave()
        guard greeting == ["hello bob, is this thing on?"], answer == ["loud and clear"] else { return 0 }
        return zip(toBob, 1...).count { $0 == "typed offline, line \($1)" }
            + zip(toAnn, 1...).count { $0 == "me too, line \($1)" }
    }

    /// Kills a chat that has lines waiting in its outbox, and starts it again.
    ///
    /// - Returns: how many of its lines arrived in their place.
    private func killAnn() async throws -> Int {
        let (wire, url) = (DemoWire.socketIO, self.server.socketIOURL)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("chat-demo-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("outbox.sqlite").path
        let join = [
            "join", "--name", "ann", "--room", wire.room, "--transport", "socketio", "--url", url, "--network",
            self.network.rawValue,
        ]
        let bob = try await DemoGuest.enter("bob", self.plan(wire), wire)
        self.tell("The server is gone. Ann starts her chat all the same, and types:")
        self.server.drop()
        await self.server.stop()
        await bob.isLost()
        let lines = (1...Self.offline).map { "typed before kill -9, line \($0)" }
        let ann = try DemoVictim(join + ["--outbox", file])
        for line in lines { try ann.type(line) }
        await ann.show(until: "* kept: \(lines[Self.offline - 1])")
        await ann.kill()
        self.tell("kill -9 of ann's chat. The server is back, and she starts it again:")
        try await self.server.start()
        let next = try DemoVictim(join + ["--outbox", file])
        try next.endInput()
        // Each line at its time: her process connects before bob hears from her.
        async let shown: Void = next.show()
        let heard = await bob.hear(Self.offline)
        await shown
        _ = await next.exit()
        await bob.leave()
        return zip(heard, lines).count { $0 == $1 }
    }

    private func plan(_ wire: DemoWire) -> MessagingPlan {
        let socketIO = SocketIOConfiguration {
            $0.network = self.network
            if wire == .polling { $0.carriers = .polling }
        }
        return switch wire {
        case .memory: MessagingPlan(url: "memory://lobby", transport: .inMemory(self.chat.hub))
        case .socketIO, .polling: MessagingPlan(url: self.server.socketIOURL, transport: .socketIO(socketIO))
        case .webSocket:
            MessagingPlan(url: self.server.webSocketURL, transport: .webSocket(.init { $0.network = self.network }))
        }
    }

    private func fail(_ wire: DemoWire) async {
        if wire == .memory {
            self.tell("Somebody trips over the cable. Both keep typing:")
            self.chat.hub.cut()
        } else {
            self.tell("The server drops everyone and is gone. Both keep typing:")
            self.server.drop()
            await self.server.stop()
        }
    }

    private func recover(_ wire: DemoWire) async throws {
        self.tell("\(wire == .memory ? "The cable goes back in" : "The server is back"). Nobody has to do anything:")
        if wire == .memory { self.chat.hub.restore() } else { try await self.server.start() }
    }
}

/// What carries the two people's lines.
enum DemoWire: CaseIterable {
    case memory, socketIO, polling, webSocket

    var name: String {
        switch self {
        case .memory: "memory"
        case .socketIO: "Socket.IO, WebSocket"
        case .polling: "Socket.IO, long polling"
        case .webSocket: "raw WebSocket"
        }
    }

    var introduction: String {
        switch self {
        case .memory: "two people, one room, no network: the hub is inside this process."
        case .socketIO: "the same over Socket.IO on a WebSocket, to a server on this machine."
        case .polling: "the same over Socket.IO on long polling: plain HTTP requests."
        case .webSocket: "the same over a raw WebSocket."
        }
    }

    /// The room, one for each wire.
    var room: String { "lobby of \(self.name)" }
}
