#if canImport(Combine) || OpenCombine
internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanTesting

/// A hub, and a manager whose time stands still unless a test moves it.
struct Lobby: Sendable {
    let hub = InMemoryHub(executor: TestExecutor())
    let scheduler = VirtualScheduler()
    let manager: ConnectionManager

    init() {
        self.manager = ConnectionManager(
            options: .init { [scheduler = self.scheduler] in
                $0.scheduler = scheduler
                $0.random = { 0.5 }
            })
    }

    func connect() throws(LinkspanError) -> ConnectionHandler {
        try ConnectionBuilder("memory://lobby").transport(.inMemory(self.hub)).connect(by: self.manager)
    }

    /// Sends numbers to everyone, each as the first argument of one event.
    func emit(_ numbers: some Sequence<Int>, as event: String = "number") {
        for number in numbers { self.hub.emit(event, .json("\(number)")) }
    }
}

extension Payload {
    /// Arguments as JSON text.
    static func json(_ text: String) -> Payload { Payload(trustedElements: Array(text.utf8)[...]) }
}

extension Message {
    /// The first argument, when it is a number.
    var number: Int? { self.payload[0]?.int }
}
#endif
