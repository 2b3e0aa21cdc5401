internal import Foundation
internal import Linkspan
internal import LinkspanSocketIO

/// The settings of a manager's links, made of its options.
struct Terms {
    var configuration = SocketIOConfiguration { $0.carriers = .upgrade }
    var options: SocketIOClientConfiguration = []
    var retry = Retry()
    var forcesNew = false
    /// Whether a socket was ever told to connect; from then on the manager's status is never `notConnected`.
    var hasBegun = false
    /// Drops events emitted while the socket is not connected; see ``SocketManager/dropsOfflineEmits``.
    var dropsOffline = false
    private var query: [Credentials.Field] = []
    private var cookies: [Credentials.Field] = []
    private var headers: [Credentials.Field] = []
    private(set) var isSecure = false
    /// The option that cannot be followed; nothing is connected with it.
    private(set) var problem: LinkspanError?

    /// The terms by other options; what they do not name stays, so that a fresh token takes no pin or version away.
    func changed(by options: SocketIOClientConfiguration) -> Terms {
        var terms = self
        (terms.options, terms.problem) = (options, nil)
        for option in options { terms.take(option) }
        for case .sessionDelegate(let change as SocketIOClientOption.Change) in options {
            change.apply(&terms.configuration)
        }
        for case .enableSOCKSProxy(true) in options where terms.configuration.proxy == nil {
            terms.problem = Self.refusal("enableSOCKSProxy takes no proxy from the system: name it by linkspan")
        }
        if let problem = terms.problem { processLog.error("\(problem)") }
        return terms
    }

    private mutating func take(_ option: SocketIOClientOption) {
        switch option {
        case .compress: self.configuration.compression = .init()
        case .connectParams(let items): self.query = Self.fields(items.filter { !Self.reserved.contains($0.key) })
        case .cookies(let cookies):
            let text = cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
            self.cookies = text.isEmpty ? [] : [Credentials.Field("Cookie", Secret(text))]
        case .extraHeaders(let fields):
            self.headers = Self.fields(fields.filter { !Self.framing.contains($0.key.lowercased()) })
        case .forceNew(let isWanted): self.forcesNew = isWanted
        case .forcePolling(let isForced) where isForced || self.configuration.carriers == .polling:
            self.configuration.carriers = isForced ? .polling : .upgrade
        case .forceWebsockets(let isForced) where isForced || self.configuration.carriers == .webSocket:
            self.configuration.carriers = isForced ? .webSocket : .upgrade
        case .path(let path): self.configuration.path = path.hasPrefix("/") ? path : "/\(path)"
        case .reconnects(let isWanted): self.retry.isWanted = isWanted
        case .reconnectAttempts(let attempts): self.retry.attempts = attempts
        case .reconnectWait(let seconds): self.retry.wait = seconds
        case .reconnectWaitMax(let seconds): self.retry.waitMax = seconds
        case .randomizationFactor(let factor): self.retry.randomization = factor
        case .secure(let isWanted): self.isSecure = isWanted
        case .security(let pinning): self.configuration.tls = pinning.policy
        case .selfSigned(true): processLog.warning("selfSigned changes nothing: trust the certificate by security")
        case .sessionDelegate(let delegate) where !(delegate is SocketIOClientOption.Change):
            self.problem = Self.refusal("sessionDelegate decides nothing here: say by security what is trusted")
        case .version(let version): self.configuration.protocol = version == .two ? .v2 : .v4
        default: ()
        }
    }

    /// The items that Engine.IO itself puts into the query.
    private static let reserved: Set = ["EIO", "transport", "sid"]
    /// The header fields that each request writes itself.
    private static let framing: Set = ["host", "content-type", "content-length", "transfer-encoding"]

    private static func fields(_ values: [String: Any]) -> [Credentials.Field] {
        values.sorted { $0.key < $1.key }.map { Credentials.Field($0.key, Secret("\($0.value)")) }
    }

    static func refusal(_ message: String) -> LinkspanError { LinkspanError(.invalidConfiguration, message) }

    /// The credentials of a link; without the payload of its socket for servers of 2.x, which have no place for it.
    func credentials(_ payload: Payload?) -> Credentials {
        let auth = self.configuration.protocol == .v4 ? payload : nil
        return Credentials(auth: auth, headers: self.cookies + self.headers, query: self.query)
    }
}

/// When a lost link is tried for again.
struct Retry: Sendable {
    var isWanted = true
    var attempts = -1
    var wait = 10
    var waitMax = 30
    var randomization = 0.5

    /// The first attempt follows the loss within a second; the waits behind later ones grow by half each time.
    func delay(for question: RetryQuestion) -> Duration? {
        let isOver = self.attempts >= 0 && question.failures > self.attempts
        guard self.isWanted, !isOver, !question.error.isPermanent else { return nil }
        guard question.failures > 1 else { return .seconds(min(1, max(0, self.randomization)) * question.random) }
        let wait = Double(abs(self.wait)) * pow(1.5, Double(min(question.failures, 100) - 2))
        let longest = max(abs(self.wait), abs(self.waitMax))
        return .seconds(min(wait * (1 + max(0, self.randomization) * question.random), Double(longest)))
    }
}
