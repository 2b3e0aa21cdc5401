@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Logging

/// A connection over scripted links and virtual time, with everything it does on record.
///
/// The source of chance is fixed at 0.5 unless a test says otherwise.
struct Harness: Sendable {
    let scheduler: VirtualScheduler
    let transport: ScriptedTransport
    let connection: PooledConnection
    let recorder: EventRecorder

    init(
        credentials: CredentialSource = .none, random: @escaping @Sendable () -> Double = { 0.5 },
        logger: Logger = Logger(label: "test"), observer: (any ConnectionObserver)? = nil,
        options: (inout ConnectionOptions) -> Void = { _ in }, script: @escaping @Sendable (Int) -> LinkScript
    ) throws {
        self.scheduler = VirtualScheduler()
        self.transport = ScriptedTransport(scheduler: self.scheduler, script: script)
        let configuration = try ConnectionBuilder("scripted://server").transport(self.transport)
            .credentials(credentials).options(options).build()
        let environment = ConnectionEnvironment(
            scheduler: self.scheduler, random: random, logger: logger, observer: observer)
        self.connection = PooledConnection(id: 1, configuration: configuration, environment: environment)
        self.recorder = EventRecorder()
        let recorder = self.recorder
        _ = self.connection.onStateChange { recorder.record(.state($0)) }
    }

    init() throws { try self.init(script: { _ in .perfect }) }

    /// A harness whose connection is up, to a server that replies to every request with its arguments.
    static func connected(
        options: (inout ConnectionOptions) -> Void = { _ in },
        script: @escaping @Sendable (Int) -> LinkScript = { _ in .perfect }
    ) throws -> Harness {
        let harness = try Harness(options: options, script: script)
        harness.transport.onMessage { $0.reply($0.payload) }
        try harness.connection.connect()
        harness.scheduler.settle()
        return harness
    }

    var peers: [ScriptedPeer] { self.transport.peers }

    /// The events that have arrived at the server, in order.
    var arrived: [String] { self.transport.received.map(\.event) }

    func perform(
        _ kind: Command.Kind, _ event: String, timeout: Duration? = nil, isVolatile: Bool = false
    ) throws(LinkspanError) {
        try self.connection.perform(
            Command(
                kind, event: event, payload: .empty, timeout: timeout, isVolatile: isVolatile,
                completion: self.recorder.completion(event)))
    }

    /// The one outcome of a command; nil when there is none or more than one.
    func outcome(_ event: String) -> Result<Payload, LinkspanError>? {
        let outcomes = self.recorder.outcomes(event)
        return outcomes.count == 1 ? outcomes.first : nil
    }

    func failure(_ event: String) -> LinkspanError? {
        guard case .failure(let error) = self.outcome(event) else { return nil }
        return error
    }

    func isSuccess(_ event: String) -> Bool {
        if case .success = self.outcome(event) { true } else { false }
    }

    /// Brings the connection into a state.
    func enter(_ state: ConnectionState) throws {
        switch state {
        case .created: ()
        case .connected:
            try self.connection.connect()
            self.scheduler.settle()
        case .disconnected:
            try self.enter(.connected)
            try self.connection.disconnect()
        case .reconnecting:
            try self.enter(.connected)
            for peer in self.transport.openPeers { peer.drop() }
            self.scheduler.settle()
        case .released:
            try self.enter(.disconnected)
            try self.connection.release()
        }
    }
}

extension LinkspanError {
    /// Any error that allows another attempt.
    static let lost = LinkspanError(.connectionLost, "lost in a test")
    /// Any error that does not.
    static let permanent = LinkspanError(.tlsFailed, "not trusted in a test")
}

extension Payload {
    /// Arguments as JSON text.
    static func json(_ text: String) -> Payload { Payload(trustedElements: Array(text.utf8)[...]) }

    var text: String { String(decoding: self.elements, as: UTF8.self) }
}

extension Connection {
    /// Calls `handler` with the messages of an event and the marks between them.
    @discardableResult
    func onItems(
        _ event: String?, _ handler: @escaping @Sendable (EventItem<Message>) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.subscribe(to: event, once: false, onMark: { handler(.continuity($0)) }, { handler(.message($0)) })
    }
}
