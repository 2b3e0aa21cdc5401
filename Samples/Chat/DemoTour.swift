import Linkspan
import LinkspanMessaging
import LinkspanDevServer
import LinkspanInMemory
import LinkspanSocketIO
import LinkspanWebSocket

/// The tour that `chat demo` gives: the same two people and the same outage, on one wire after the other.
@available(macOS 15, *)
struct DemoTour {
    /// Lines that each of the two types while the link is down.
    private static let offline = 3

    private let chat: ChatHub
    private let server: DevServer

    init() {
        self.chat = ChatHub()
        self.server = DevServer(hub: self.chat.hub)
    }

    /// Gives the tour.
    ///
    /// - Returns: whether everything arrived, in order.
    func run() async throws -> Bool {
        try await self.server.start()
        var results: [(name: String, arrived: Int)] = []
        for (number, wire) in DemoWire.allCases.enumerated() {
            LineOutput.show("\(number + 1) of \(DemoWire.allCases.count): \(wire.introduction)")
            LineOutput.show("")
            results.append((wire.name, try await self.visit(wire)))
            LineOutput.show("")
        }
        await self.server.stop()
        return Self.sum(results)
    }

    private static func sum(_ results: [(name: String, arrived: Int)]) -> Bool {
        let typed = 2 * Self.offline
        for (name, arrived) in results {
            let padded = name + String(repeating: " ", count: max(0, 24 - name.count))
            LineOutput.show("  \(padded) \(arrived) of \(typed) lines arrived, in order")
        }
        let (all, arrived) = (typed * results.count, results.reduce(0) { $0 + $1.arrived })
        LineOutput.show("")
        LineOutput.show(
            arrived == all
                ? "\(all) lines were typed while the link was down; \(all) arrived, in order, without a line of code for it."
                : "Something was lost or out of order: \(arrived) of \(all) lines arrived as they should.")
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

    private func plan(_ wire: DemoWire) -> MessagingPlan {
        switch wire {
        case .memory: MessagingPlan(url: "memory://lobby", transport: .inMemory(self.chat.hub))
        case .socketIO: MessagingPlan(url: self.server.socketIOURL, transport: .socketIO)
        case .polling:
            MessagingPlan(url: self.server.socketIOURL, transport: .socketIO(.init { $0.carriers = .polling }))
        case .webSocket: MessagingPlan(url: self.server.webSocketURL, transport: .webSocket)
        }
    }

    private func fail(_ wire: DemoWire) async {
        LineOutput.show("")
        if wire == .memory {
            LineOutput.show("Somebody trips over the cable. Both keep typing:")
            self.chat.hub.cut()
        } else {
            LineOutput.show("The server drops everyone and is gone. Both keep typing:")
            self.server.drop()
            await self.server.stop()
        }
        LineOutput.show("")
    }

    private func recover(_ wire: DemoWire) async throws {
        LineOutput.show("")
        LineOutput.show(
            "\(wire == .memory ? "The cable goes back in" : "The server is back"). Nobody has to do anything:")
        LineOutput.show("")
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
