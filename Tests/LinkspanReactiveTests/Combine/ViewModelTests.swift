#if canImport(Combine) || OpenCombine
internal import Dispatch
internal import Linkspan
internal import LinkspanReactive
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import Observation
internal import TestSupport
internal import Testing

#if canImport(Combine)
internal import Combine
#else
internal import OpenCombine
internal import OpenCombineDispatch
#endif

extension Event where Value == Int, Reply == NoReply {
    fileprivate static var number: Self { Event("number") }
}

extension Event where Value == Int, Reply == Int {
    fileprivate static var question: Self { Event("question") }
}

/// Every way in which a view model follows a connection.
private enum Form: String, CaseIterable, Sendable {
    case listener, stateListener, answer
    case eachValue, eachEvent, eachItem, eachState
    case values, items, states
    case messagePublisher, valuePublisher, receivedPublisher, statePublisher
    case model
}

/// View models in main-actor code over a real wire, whose messages come on the thread of a loop; most telling under the
/// thread sanitizer.
@Suite("View models of the main actor", .timeLimit(.minutes(2)))
@MainActor
struct ViewModelTests {
    @Test(arguments: Form.allCases.map { [$0] } + [Form.allCases])
    fileprivate func `a view model is gone within a second of its last reference, and its connection with it`(
        forms: [Form]
    ) async throws {
        let hub = InMemoryHub()
        let asked = Lock(0)
        hub.onConnect { peer in
            peer.on("begin") { message in
                message.reply(.empty)
                for number in 1...500 { peer.emit("number", .json("\(number)")) }
                for number in 1...5 {
                    peer.ask("question", .json("\(number)")) { answer in
                        if answer[0]?.int == 2 * number { asked.withLock { $0 += 1 } }
                    }
                }
            }
        }
        let server = DevServer(hub: hub)
        try await server.start()
        let manager = ConnectionManager()
        var connection: ConnectionHandler? = try ConnectionBuilder(server.socketIOURL).transport(.socketIO)
            .connect(by: manager)
        weak let weakConnection = connection
        var model: ViewModel? = try connection.map { try ViewModel($0, forms) }
        weak let weakModel = model
        connection = nil
        try await model?.connection.connected(within: .seconds(30))
        _ = try await model?.connection.request("begin")
        try await eventually { model?.hasHeard != false }
        if forms.contains(.answer) { try await eventually { asked.withLock { $0 } >= 5 } }
        #expect(model?.isOrdered == true)

        // While more arrives, and the state changes.
        await Task.detached {
            for number in 501...1_000 { hub.emit("number", .json("\(number)")) }
            server.drop()
        }.value
        model = nil
        try await self.expectGone("the model") { weakModel }
        try await self.expectGone("the connection") { weakConnection }
        await manager.shutdown()
        await server.stop()
    }

    private func expectGone(_ name: String, _ reference: () -> AnyObject?) async throws {
        try await eventually("\(name) is still there") { reference() == nil }
    }
}

@MainActor
private final class ViewModel {
    let connection: ConnectionHandler
    private let forms: [Form]
    private var numbers: [Form: [Int]] = [:]
    private var notices: [Form: Int] = [:]
    private var subscriptions: Set<AnyCancellable> = []
    private var status: ConnectionModel?

    init(_ connection: ConnectionHandler, _ forms: [Form]) throws {
        self.connection = connection
        self.forms = forms
        for form in forms { try self.follow(form) }
    }

    /// Whether each form has heard something.
    var hasHeard: Bool {
        self.forms.allSatisfy { (self.numbers[$0]?.count ?? 0) > 100 || (self.notices[$0] ?? 0) > 0 }
    }

    /// Whether each form has heard what it heard in order.
    var isOrdered: Bool { self.numbers.values.allSatisfy { $0 == Array(1...$0.count) } }

    private func hear(_ form: Form, _ number: Int?) {
        MainActor.preconditionIsolated()
        self.numbers[form, default: []].append(number ?? -1)
    }

    private func notice(_ form: Form) {
        MainActor.preconditionIsolated()
        self.notices[form, default: 0] += 1
    }

    private func follow(_ form: Form) throws {
        switch form {
        case .listener, .stateListener, .answer: try self.listen(form)
        case .eachValue, .eachEvent, .eachItem, .eachState: try self.followEach(form)
        case .values, .items, .states: try self.read(form)
        case .messagePublisher, .valuePublisher, .receivedPublisher, .statePublisher: self.subscribe(form)
        case .model:
            self.status = ConnectionModel(self.connection, figuresEvery: .milliseconds(10))
            self.observe()
        }
    }

    /// Listeners on the connection's executor, which leave it by a task for each call.
    private func listen(_ form: Form) throws {
        switch form {
        case .listener:
            try self.connection.on("number") { [weak self] _ in
                Task { @MainActor in self?.notice(form) }
            }
        case .stateListener:
            self.connection.onStatusChange { [weak self] _ in
                Task { @MainActor in self?.notice(form) }
            }
        default:
            try self.connection.answer(.question) { [weak self] number async throws in
                self?.notice(form)
                return 2 * number
            }
        }
    }

    /// Listeners on the main actor.
    private func followEach(_ form: Form) throws {
        switch form {
        case .eachValue:
            try self.connection.values(.number).onEach { [weak self] in self?.hear(form, try? $0.get()) }
        case .eachEvent:
            try self.connection.events("number").onEach { [weak self] in self?.hear(form, $0.message.number) }
        case .eachItem:
            try self.connection.events("number").items.onEach { [weak self] item in
                if case .message(let message) = item { self?.hear(form, message.number) }
            }
        default: self.connection.stateChanges.onEach { [weak self] _ in self?.notice(form) }
        }
    }

    /// Sequences that a task of the main actor reads.
    private func read(_ form: Form) throws {
        switch form {
        case .values:
            let numbers = try self.connection.values("number", as: Int.self)
            Task { [weak self] in
                for await number in numbers { self?.hear(form, try? number.get()) }
            }
        case .items:
            let items = try self.connection.events("number").items
            Task { [weak self] in
                for await case .message(let message) in items { self?.hear(form, message.number) }
            }
        default:
            let states = self.connection.stateChanges
            Task { [weak self] in
                for await _ in states { self?.notice(form) }
            }
        }
    }

    private func subscribe(_ form: Form) {
        switch form {
        case .messagePublisher:
            self.connection.publisher(for: "number").sink { [weak self] in self?.hear(form, $0.number) }
                .store(in: &self.subscriptions)
        case .valuePublisher:
            self.connection.publisher(for: .number).sink { [weak self] in self?.hear(form, try? $0.get()) }
                .store(in: &self.subscriptions)
        case .receivedPublisher:
            self.connection.publisher(for: "number").map(\.number).receive(on: mainQueue)
                .sink { [weak self] in self?.hear(form, $0) }.store(in: &self.subscriptions)
        default:
            self.connection.statePublisher.sink { [weak self] _ in self?.notice(form) }.store(in: &self.subscriptions)
        }
    }

    /// Observes the model as a view does: once for each change.
    private func observe() {
        withObservationTracking {
            if self.status?.state == .connected { self.notice(.model) }
            _ = (self.status?.progress, self.status?.waitingCommands, self.status?.roundTrip, self.status?.lastError)
        } onChange: { [weak self] in
            Task { @MainActor in self?.observe() }
        }
    }
}

#if canImport(Combine)
private var mainQueue: DispatchQueue { .main }
#else
private var mainQueue: DispatchQueue.OCombine { DispatchQueue.main.ocombine }
#endif
#endif
