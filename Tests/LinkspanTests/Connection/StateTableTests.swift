@testable import Linkspan
internal import LinkspanTesting
internal import Testing

@Suite("The state table")
struct StateTableTests {
    /// One cell of the table of transitions.
    struct Step: Sendable, CustomTestStringConvertible {
        let from: ConnectionState
        let to: ConnectionState
        let isAllowed: Bool

        var testDescription: String { "\(self.from) to \(self.to): \(self.isAllowed ? "yes" : "no")" }

        static let allowed: [ConnectionState: Set<ConnectionState>] = [
            .created: [.connected, .disconnected], .connected: [.disconnected],
            .disconnected: [.reconnecting, .released], .reconnecting: [.connected, .disconnected], .released: [],
        ]

        static let all = ConnectionState.allCases.flatMap { from in
            ConnectionState.allCases.map { to in
                Step(from: from, to: to, isAllowed: Self.allowed[from, default: []].contains(to))
            }
        }
    }

    @Test(arguments: Step.all)
    func `a transition is allowed exactly where the table says yes`(step: Step) {
        #expect(step.from.canBecome(step.to) == step.isAllowed)
    }

    @Test(arguments: Step.all.filter(\.isAllowed))
    func `each allowed transition happens`(step: Step) throws {
        let harness = try Harness(script: { number in
            number == 1 && step.from == .created ? Self.firstScript(step) : .perfect
        })
        try harness.enter(step.from)
        switch (step.from, step.to) {
        case (.created, _): try harness.connection.connect()
        case (.connected, _), (.reconnecting, .disconnected): try harness.connection.disconnect()
        case (.disconnected, .reconnecting): try harness.connection.connect()
        case (.disconnected, _): try harness.connection.release()
        default: ()
        }
        harness.scheduler.advance(by: .seconds(10))
        let steps = harness.recorder.changes.map { "\($0.from) to \($0.to)" }
        #expect(steps.contains("\(step.from) to \(step.to)"))
    }

    @Test
    func `a disconnect during the first attempt gives it up`() throws {
        let harness = try Harness()
        try harness.connection.connect()
        #expect(harness.connection.status.progress == .opening(attempt: 1))
        try harness.connection.disconnect()
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.connection.state == .disconnected)
        #expect(harness.recorder.states == [.disconnected])
        #expect(harness.transport.openPeers.isEmpty)
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.connection.state == .connected)
    }

    private static func firstScript(_ step: Step) -> LinkScript {
        step.to == .disconnected ? .refusing(.permanent) : .perfect
    }
}

@Suite("The permission table")
struct PermissionTableTests {
    enum Operation: String, Sendable, CaseIterable {
        case connect, reconnectNow, disconnect, release, send, request, subscribe
    }

    enum Effect: Sendable { case error(LinkspanError.Code), becomes(ConnectionState), nothing, buffered, sent, listens }

    struct Cell: Sendable, CustomTestStringConvertible {
        let operation: Operation
        let state: ConnectionState
        let effect: Effect

        var testDescription: String { "\(self.operation) in \(self.state): \(self.effect)" }
    }

    static let cells: [Cell] = {
        let states = ConnectionState.allCases
        let rows: [(Operation, [Effect])] = [
            (
                .connect,
                [
                    .becomes(.created), .error(.wrongState), .becomes(.reconnecting), .error(.wrongState),
                    .error(.wrongState),
                ]
            ),
            (.reconnectNow, [.becomes(.created), .nothing, .becomes(.reconnecting), .nothing, .error(.wrongState)]),
            (
                .disconnect,
                [
                    .error(.wrongState), .becomes(.disconnected), .nothing, .becomes(.disconnected),
                    .error(.wrongState),
                ]
            ),
            (
                .release,
                [
                    .error(.wrongState), .error(.wrongState), .becomes(.released), .error(.wrongState),
                    .error(.wrongState),
                ]
            ),
            (.send, [.buffered, .sent, .buffered, .buffered, .error(.released)]),
            (.request, [.buffered, .sent, .buffered, .buffered, .error(.released)]),
            (.subscribe, [.listens, .listens, .listens, .listens, .error(.released)]),
        ]
        // Order of the columns: created, connected, disconnected, reconnecting, released.
        return rows.flatMap { operation, effects in
            zip(states, effects).map { Cell(operation: operation, state: $0, effect: $1) }
        }
    }()

    @Test(arguments: cells)
    func `an operation does in each state what the table says`(cell: Cell) throws {
        let harness = try Harness()
        try harness.enter(cell.state)
        try self.check(cell, harness)
    }

    @Test(arguments: cells.filter { $0.state == .disconnected })
    func `a suspended connection permits what a disconnected one does`(cell: Cell) throws {
        let harness = try Harness()
        try harness.enter(.connected)
        harness.connection.suspend(LinkspanError(.suspended, "in a test"), patience: nil)
        #expect(harness.connection.status.progress == .suspended)
        try self.check(cell, harness)
    }

    private func check(_ cell: Cell, _ harness: Harness) throws {
        let changes = harness.recorder.changes.count
        switch cell.effect {
        case .error(let code):
            let error = #expect(throws: LinkspanError.self) { try Self.perform(cell.operation, on: harness) }
            #expect(error?.code == code)
            #expect(error?.message.contains("\(cell.state)") == true)
            if code == .wrongState { #expect(error?.message.contains(cell.operation.rawValue) == true) }
            #expect(harness.connection.state == cell.state)
            #expect(harness.recorder.changes.count == changes)
        case .becomes(let state):
            try Self.perform(cell.operation, on: harness)
            #expect(harness.connection.state == state)
            if state == .created { #expect(harness.connection.status.progress == .opening(attempt: 1)) }
        case .nothing:
            try Self.perform(cell.operation, on: harness)
            #expect(harness.connection.state == cell.state)
            #expect(harness.recorder.changes.count == changes)
        case .buffered:
            try Self.perform(cell.operation, on: harness)
            #expect(harness.connection.status.waitingCommands == 1)
            #expect(harness.transport.sent.isEmpty)
            #expect(harness.recorder.outcomes("event").isEmpty)
        case .sent:
            try Self.perform(cell.operation, on: harness)
            #expect(harness.connection.status.waitingCommands == 0)
            #expect(harness.transport.sent.map(\.event) == ["event"])
        case .listens:
            try Self.perform(cell.operation, on: harness)
            try Self.checkListening(harness)
        }
    }

    private static func perform(_ operation: Operation, on harness: Harness) throws(LinkspanError) {
        switch operation {
        case .connect: try harness.connection.connect()
        case .reconnectNow: try harness.connection.reconnectNow()
        case .disconnect: try harness.connection.disconnect()
        case .release: try harness.connection.release()
        case .send: try harness.perform(.send, "event")
        case .request: try harness.perform(.request, "event")
        case .subscribe:
            let recorder = harness.recorder
            try harness.connection.on("event") { recorder.record(.message($0)) }
        }
    }

    /// A subscription works on the next link, whenever it was made.
    private static func checkListening(_ harness: Harness) throws {
        if harness.connection.state == .created || harness.connection.state == .disconnected {
            try harness.connection.connect()
        }
        harness.scheduler.advance(by: .seconds(5))
        let peer = try #require(harness.transport.openPeers.first)
        peer.emit("event")
        harness.scheduler.settle()
        #expect(harness.recorder.messages.count == 1)
    }
}
