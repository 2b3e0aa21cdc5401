import Linkspan
import LinkspanInMemory

/// The tour that `chat demo` gives.
@available(macOS 15, *)
struct DemoTour {
    private let server = ChatHub()

    /// Gives the tour.
    ///
    /// - Returns: whether everything arrived, in order.
    func run() async throws -> Bool {
        LineOutput.show("Two people, one room, no network: the hub is inside this process.")
        LineOutput.show("")
        let ann = try await DemoGuest.enter("ann", self.server)
        let bob = try await DemoGuest.enter("bob", self.server)

        try await ann.say("hello bob, is this thing on?")
        let greeting = await bob.hear(1)
        try await bob.say("loud and clear")
        let answer = await ann.hear(1)

        LineOutput.show("")
        LineOutput.show("Now somebody trips over the cable. Both keep typing:")
        LineOutput.show("")
        self.server.hub.cut()
        for number in 1...3 {
            try await ann.say("typed offline, line \(number)")
            try await bob.say("me too, line \(number)")
        }
        LineOutput.show("")
        LineOutput.show("The cable goes back in. Nobody has to do anything:")
        LineOutput.show("")
        self.server.hub.restore()
        let toBob = await bob.hear(3)
        let toAnn = await ann.hear(3)

        let isComplete =
            greeting == ["hello bob, is this thing on?"] && answer == ["loud and clear"]
            && toBob == (1...3).map { "typed offline, line \($0)" } && toAnn == (1...3).map { "me too, line \($0)" }
        await ann.leave()
        await bob.leave()
        LineOutput.show("")
        LineOutput.show(
            isComplete
                ? "6 lines were typed while the link was down; 6 arrived, in order, without a line of code for it."
                : "Something was lost or out of order.")
        return isComplete
    }
}

/// One of the two people of the tour.
@available(macOS 15, *)
private struct DemoGuest {
    private let name: String
    private let rooms: RoomsService
    private let messaging: Messaging
    /// Held so that its listener goes on.
    private let connection: ConnectionHandler
    private let following: Task<Void, Never>
    private let heard: AsyncStream<String>

    static func enter(_ name: String, _ server: ChatHub) async throws -> DemoGuest {
        var plan = MessagingPlan(url: "memory://lobby", transport: InMemoryTransport(hub: server.hub))
        let visitor = Visitor(name: name, room: "lobby")
        let chatNews = ChatNews()
        let rooms = RoomsService(visitor, chatNews)
        plan.credentials = visitor.credentials
        plan.services = [PlannedService(rooms)]
        let messaging = try await Messaging.start(plan)
        let connection = try messaging.connect()
        for await change in connection.stateChanges where change.to == .connected { break }
        _ = connection.onStateChange { change in
            let sentence = ConnectionNews.sentence(for: change, over: "memory")
            if let sentence { LineOutput.news("\(name): \(sentence)") }
        }
        return DemoGuest(name: name, rooms: rooms, chatNews, messaging: messaging, connection: connection)
    }

    private init(
        name: String, rooms: RoomsService, _ chatNews: ChatNews, messaging: Messaging, connection: ConnectionHandler
    ) {
        self.name = name
        self.rooms = rooms
        self.messaging = messaging
        self.connection = connection
        let (heard, ear) = AsyncStream<String>.makeStream()
        self.heard = heard
        // No parent can own this task: it has the life of the guest, and `leave` ends it.
        self.following = Task {
            for await event in chatNews.events {
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

    /// The next lines that come to this guest.
    func hear(_ count: Int) async -> [String] {
        var lines: [String] = []
        for await line in self.heard {
            lines.append(line)
            if lines.count == count { break }
        }
        return lines
    }

    func leave() async {
        _ = await self.rooms.drain(within: .seconds(2))
        self.following.cancel()
        await self.messaging.stop()
    }
}
