internal import LinkspanRuntime
internal import LinkspanTesting
internal import Logging
internal import Testing

@testable import Linkspan

/// Connections to one scripted server by different paths, which share a source of credentials and a virtual clock.
struct Fleet: Sendable {
    let scheduler = VirtualScheduler()
    let transport: ScriptedTransport
    let connections: [PooledConnection]

    /// Makes connections that have not begun to connect.
    ///
    /// - Parameters:
    ///   - urls: where they lead.
    ///   - source: their credentials.
    ///   - options: how they behave, by their index.
    ///   - accepts: whether the server likes a token, which is the auth payload.
    /// - Throws: what the builder throws.
    init(
        urls: [String], _ source: CredentialSource,
        options: (Int, inout ConnectionOptions) -> Void = { _, _ in },
        accepts: @escaping @Sendable (String) -> Bool = { _ in true }
    ) throws {
        let place = Place()
        self.transport = ScriptedTransport(scheduler: self.scheduler) { number in
            let token = place.transport?.peers[number - 1].request.token ?? ""
            return accepts(token) ? .perfect : .refusing(LinkspanError(.credentialsRefused, "refused in a test"))
        }
        place.transport = self.transport
        let environment = ConnectionEnvironment(
            scheduler: self.scheduler, random: { 0.5 }, logger: Logger(label: "test"), observer: nil,
            attempts: SharedPool(AttemptLimits(perSecond: urls.count, burst: 2 * urls.count)))
        let transport = self.transport
        self.connections = try urls.enumerated().map { index, url in
            let configuration = try ConnectionBuilder(url).transport(transport).credentials(source)
                .options { options(index, &$0) }.build()
            return PooledConnection(id: UInt64(index), configuration: configuration, environment: environment)
        }
    }

    init(
        _ count: Int, _ source: CredentialSource, options: (Int, inout ConnectionOptions) -> Void = { _, _ in },
        accepts: @escaping @Sendable (String) -> Bool = { _ in true }
    ) throws {
        try self.init(
            urls: (1...count).map { "scripted://server/\($0)" }, source, options: options, accepts: accepts)
    }

    /// The tokens that the server was shown, in the order of the links.
    var tokens: [String] { self.transport.peers.map(\.request.token) }

    func connect() throws {
        for connection in self.connections { try connection.connect() }
    }

    /// Waits until no attempt is under way, without moving the clock.
    func open() async throws {
        try await eventually("the end of the attempts", self.scheduler) {
            self.connections.allSatisfy {
                switch $0.status.progress {
                case .obtainingCredentials, .opening: false
                case .idle, .waiting, .open, .suspended: true
                }
            }
        }
    }
}

/// A transport that is known later than its script, which must not keep it.
private final class Place: Sendable {
    private struct State: Sendable {
        weak var transport: ScriptedTransport?
    }

    private let state = Lock(State())

    var transport: ScriptedTransport? {
        get { self.state.withLock { $0.transport } }
        set { self.state.withLock { $0.transport = newValue } }
    }
}

extension LinkRequest {
    /// The auth payload when it is a text.
    var token: String { (self.credentials.auth?[0]?.string).map { String($0) } ?? "" }
}

/// A manager over scripted links and virtual time.
///
/// The source of chance is fixed at 0.5 unless there is a seed.
struct PoolHarness: Sendable {
    let scheduler = VirtualScheduler()
    let transport: ScriptedTransport
    let manager: ConnectionManager

    init(
        rules: [any KeeperRule] = .standard, attempts: AttemptLimits = AttemptLimits(),
        seed: UInt64? = nil, factory: (any ConnectionFactory)? = nil,
        script: @escaping @Sendable (Int) -> LinkScript = { _ in .perfect }
    ) {
        self.transport = ScriptedTransport(scheduler: self.scheduler, script: script)
        let generator = seed.map { Lock(SeededGenerator(seed: $0)) }
        self.manager = ConnectionManager(
            options: .init { [scheduler = self.scheduler] in
                $0.scheduler = scheduler
                $0.random = {
                    generator?.withLock { Double.random(in: 0..<1, using: &$0) } ?? 0.5
                }
                $0.rules = rules
                $0.attempts = attempts
                $0.factory = factory
            })
    }

    func configuration(
        _ url: String = "scripted://server", _ options: (inout ConnectionOptions) -> Void = { _ in }
    ) throws(LinkspanError) -> ConnectionConfiguration {
        try ConnectionBuilder(url).transport(self.transport).options(options).build()
    }

    func connect(
        _ url: String = "scripted://server", _ options: (inout ConnectionOptions) -> Void = { _ in }
    ) throws(LinkspanError) -> ConnectionHandler {
        try self.configuration(url, options).connect(by: self.manager)
    }
}

extension ConnectionConfiguration {
    /// Connects by a manager.
    func connect(by manager: ConnectionManager) throws(LinkspanError) -> ConnectionHandler { try manager.connect(self) }
}
