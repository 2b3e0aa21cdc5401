import Foundation
import Linkspan
import LinkspanNetwork
import LinkspanRuntime

/// The way through the stages of a connection, up to the first fault that all later ones depend on.
@available(macOS 15, *)
final class Examination {
    /// The parameters, which the command line gives.
    struct Plan {
        var target: ProbeTarget
        var url: ConnectionURL
        var dialer: Dialer
        /// The time for everything.
        var timeout: Duration
        /// How long a raw WebSocket stays silent.
        var idle: Duration
        /// The origin of web pages; nil for the server's own.
        var origin: String?
        /// The bytes of the largest message of the app.
        var messageSize: Int
    }

    /// What a stage has found, or why it was skipped.
    enum Finding {
        case passed(String)
        case skipped(String)
    }

    /// Examines a stage; a verdict that it throws is the stage's failure, or a warning.
    typealias Action = () async throws(Verdict) -> Finding

    let plan: Plan
    /// Steps take no longer than the time that is left.
    var dialer: Dialer {
        var dialer = self.plan.dialer
        dialer.patience = max(.milliseconds(100), min(dialer.patience, self.rest))
        return dialer
    }
    private(set) var report: Report
    private let deadline: ContinuousClock.Instant
    private let begin: (Stage) -> Void
    private let show: (Report) -> Void
    /// The shortest time that a request and its answer took.
    var roundTrip = Duration.seconds(60)
    private var addresses: [String]
    /// The server's open packet by polling; nil when it does not serve polling.
    var polled: EngineIOOpen?
    /// The WebSocket of the later stages.
    var conversation: Conversation?
    /// The open packet of that WebSocket; nil before it, and of a raw one.
    var open: EngineIOOpen?
    /// Whether the namespace has not refused the connection.
    var isJoined = false
    /// Whether sessions by polling work.
    var hasPolling = false

    /// Prepares an examination, which calls `begin` when a stage begins and `show` when its result is the report's last.
    init(_ plan: Plan, begin: @escaping (Stage) -> Void, show: @escaping (Report) -> Void) {
        (self.plan, self.begin, self.show) = (plan, begin, show)
        self.report = Report(url: "\(plan.url)")
        self.deadline = .now + plan.timeout
        self.addresses = [plan.url.host]
    }

    /// The time that is left.
    var rest: Duration { max(.zero, ContinuousClock.now.duration(to: self.deadline)) }

    /// Host and port, for sentences.
    var place: String { self.plan.url.authority }

    /// Whether a raw WebSocket is examined.
    var isRaw: Bool { self.plan.target.wire == .websocket }

    // MARK: - Stages

    /// The stages in their order, with what examines them.
    private var actions: KeyValuePairs<Stage, Action> {
        if self.isRaw {
            return [
                .name: self.findAddresses, .address: self.examineAddresses, .proxy: self.examineProxy,
                .tls: self.examineTLS, .upgrade: self.upgrade, .origin: self.examineRawOrigin,
                .heartbeat: self.examineSilence,
            ]
        }
        return [
            .name: self.findAddresses, .address: self.examineAddresses, .proxy: self.examineProxy,
            .tls: self.examineTLS, .http: self.examineHTTP, .origin: self.examineOrigin, .upgrade: self.upgrade,
            .namespace: self.join, .messageSize: self.examineSize, .polling: self.examinePolling,
            .switching: self.examineSwitch, .heartbeat: self.examineHeartbeat,
        ]
    }

    private func applies(_ stage: Stage) -> Bool {
        switch stage {
        case .proxy: self.dialer.proxy != nil
        case .tls: self.plan.url.isSecure
        default: true
        }
    }

    /// Examines every stage.
    func run() async -> Report {
        var isOver = false
        for (stage, action) in self.actions where self.applies(stage) {
            let start = ContinuousClock.now
            do throws(Verdict) {
                switch isOver ? .skipped("not reached") : try await self.perform(action, of: stage) {
                case .passed(let detail): self.record(stage, .passed, detail, since: start)
                case .skipped(let reason): self.record(stage, .skipped, reason, since: start)
                }
            } catch {
                self.record(stage, error.isWarning ? .warned : .failed, error.cause, error, since: start)
                isOver = stage.isRequired && !error.isWarning
            }
        }
        self.conversation?.close()
        return self.report
    }

    private func perform(_ action: Action, of stage: Stage) async throws(Verdict) -> Finding {
        self.begin(stage)
        if self.rest > .milliseconds(300) { return try await action() }
        if stage.isOptional { return .skipped("no time is left; --timeout gives more") }
        throw Verdict(.timeUp, "\(self.plan.timeout.seconds) were over before the stage \(stage.rawValue)")
    }

    private func record(
        _ stage: Stage, _ outcome: StageResult.Outcome, _ detail: String, _ verdict: Verdict? = nil,
        since start: ContinuousClock.Instant
    ) {
        let time = Int(start.duration(to: .now) / .milliseconds(1))
        let result = StageResult(stage: stage, outcome: outcome, detail: detail, milliseconds: time)
        self.report.add(result, verdict)
        self.show(self.report)
    }

    /// Records a weakness that no stage failed for.
    func warn(_ verdict: Verdict) { self.report.warn(verdict) }

    // MARK: - Requests

    /// An exchange of HTTP, whose time counts as a round trip.
    func exchange(_ request: StreamRequest) async -> Result<HTTPAnswer, ByteStreamError> {
        let start = ContinuousClock.now
        let result = await self.dialer.exchange(request)
        if case .success = result { self.roundTrip = min(self.roundTrip, start.duration(to: .now)) }
        return result
    }

    /// The answer to a GET; nil when there is none.
    func answer(_ target: String, headers: [StreamRequest.Header] = []) async -> HTTPAnswer? {
        try? await self.exchange(self.dialer.request(target, headers: headers)).get()
    }

    /// The verdict about a status that does not serve; some firewalls refuse every request without User-Agent.
    func verdict(status: Int, of request: String, at target: String, _ answer: HTTPAnswer?) async -> Verdict {
        var verdict = Verdict(status: status, of: request, answer)
        let agent = [("User-Agent", "linkspan/\(LinkspanCommand.version)")]
        let hasAgent = self.dialer.headers.contains { $0.name.lowercased() == "user-agent" }
        guard verdict.code == .forbidden, !hasAgent, await self.answer(target)?.head.status == status,
            let named = await self.answer(target, headers: agent)?.head.status, named != status
        else { return verdict }
        verdict.cause += ", and with a header User-Agent with \(named)"
        verdict.remedy = "let clients send a User-Agent (--header 'User-Agent: …'), or let the firewall do without it"
        return verdict
    }

    /// The verdict about a request that is not answered while a WebSocket is open, and was before.
    func verdict(ofSilence request: String) -> Verdict {
        let cause = "\(request) is not answered while a WebSocket is open, as those before it were"
        return Verdict(.connectionLimit, "\(cause): a limit of connections, or a server that serves one at a time")
    }

    // MARK: - Name, addresses, proxy, TLS

    private func findAddresses() async throws(Verdict) -> Finding {
        let host = self.plan.url.host
        if self.dialer.proxy != nil { return .skipped("the proxy looks the name up") }
        if NumericAddress.isIPv4(host) || NumericAddress.isIPv6(host) { return .skipped("\(host) is an address") }
        switch await self.dialer.addresses(of: host) {
        case .success(let addresses): self.addresses = addresses
        case .failure(let error): throw Verdict(error, to: self.place)
        }
        return .passed("\(host) is \(self.addresses.joined(separator: ", "))")
    }

    /// Connects to every address, at the same time.
    private func examineAddresses() async throws(Verdict) -> Finding {
        if self.dialer.proxy != nil { return .skipped("the proxy connects") }
        let (port, patience) = (self.plan.url.port, min(self.dialer.patience, .seconds(5)))
        let errors: [String: Int32] = await withTaskGroup(of: (String, Int32).self) { group in
            for address in self.addresses {
                group.addTask { (address, await Dialer.error(at: address, port: port, within: patience)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        let failed = self.addresses.filter { errors[$0] != 0 }
        guard !failed.isEmpty else { return .passed("TCP connects to \(self.addresses.joined(separator: ", "))") }
        let problems = failed.map { address in
            switch errors[address] ?? 0 {
            case ECONNREFUSED: "\(address) refuses the connection"
            case ETIMEDOUT: "\(address) does not answer"
            case let error: "\(address) cannot be reached (\(String(cString: strerror(error))))"
            }
        }
        let hasOther = failed.count < self.addresses.count
        let code: Verdict.Code =
            hasOther ? .deadAddress : errors.values.contains(ECONNREFUSED) ? .connectionRefused : .unreachable
        let cause = "\(self.place) is not reached by TCP: \(problems.joined(separator: ", "))"
        throw Verdict(code, cause, isWarning: hasOther)
    }

    private func examineProxy() async throws(Verdict) -> Finding {
        let answer = await self.exchange(self.dialer.request("/"))
        if case .failure(let error) = answer, error.isOfProxy { throw Verdict(error, to: self.place) }
        return .passed("connects to \(self.place)")
    }

    private func examineTLS() async throws(Verdict) -> Finding {
        let chain = Lock<[Certificate]>([])
        let asksForCertificate = Lock(false)
        var request = self.dialer.request("/")
        request.onHandshake = { event in
            switch event {
            case .certificates(let found): chain.withLock { $0 = found.compactMap { Certificate(der: $0) } }
            case .certificateRequest: asksForCertificate.withLock { $0 = true }
            }
        }
        let answer = await self.exchange(request)
        self.report.certificates = chain.withLock { $0 }
        guard case .failure(let error) = answer else { return self.trusted }
        let failure = error.code.tlsFailure
        let isClosed = [.closedByPeer, .unreachable].contains(error.code)
        if asksForCertificate.withLock({ $0 }),
            isClosed || failure == .handshakeCut || failure == .other && error.message.isAlert("handshake failure")
        {
            let cause = "\(self.place) asks for a certificate of the client, gets none and closes the connection"
            throw Verdict(.clientCertificateWanted, cause)
        }
        guard failure != nil || error.stage == .tls || self.report.certificates?.isEmpty == true else {
            return self.trusted
        }
        if [.other, .handshakeCut].contains(failure) || error.stage == .tls {
            switch await self.dialer.exchange(self.dialer.request("/", isSecure: false)) {
            case .success(let answer) where !answer.wantsTLS:
                throw Verdict(.plainServer, "\(self.place) speaks HTTP without TLS")
            case .failure(let error) where error.code == .handshakeMalformed: throw Verdict(error, to: self.place)
            default: ()
            }
        }
        var verdict = Verdict(error, to: self.place)
        if isClosed {
            verdict = Verdict(.tlsFailed, "\(self.place) takes the connection and ends it during the TLS handshake")
        }
        verdict.cause += self.report.chain
        throw verdict
    }

    private var trusted: Finding {
        let pins = self.plan.target.pin.isEmpty ? "" : ", and a pinned key"
        return .passed("the chain is trusted\(pins)\(self.report.chain)")
    }

    /// The verdict about a plain connection to a port of TLS; nil when the port is none.
    func tlsVerdict() async -> Verdict? {
        guard !self.plan.url.isSecure else { return nil }
        switch await self.dialer.exchange(self.dialer.request("/", isSecure: true)) {
        case .success: ()
        case .failure(let error):
            guard let failure = error.code.tlsFailure, ![.other, .handshakeCut].contains(failure) else { return nil }
        }
        return Verdict(.tlsRequired, "\(self.place) speaks TLS")
    }

    // MARK: - Origin

    /// The origin that a browser would send: without a path, and without the usual port.
    var origin: String {
        let url = self.plan.url
        let address = "\(url)".drop { $0 != ":" }.dropLast(url.path.count)
        return self.plan.origin ?? (url.isSecure ? "https" : "http") + address
    }

    /// The verdict about an origin that is refused: a fault of an origin that was asked about, else a warning.
    func refusal(_ cause: String) -> Verdict {
        Verdict(
            .originRefused, "web pages of \(self.origin) are refused: \(cause)", isWarning: self.plan.origin == nil)
    }
}

extension ByteStreamError {
    /// Whether the proxy failed, and not the server.
    var isOfProxy: Bool {
        [.proxyUnreachable, .proxyUnauthorized, .proxyRefused].contains(self.code) || self.stage == .proxy
            || self.stage == .connecting(.proxy) || self.stage == .resolving(.proxy)
    }
}

extension HTTPAnswer {
    /// Whether a port of TLS says in plain HTTP that it wants TLS, as nginx and Apache do.
    var wantsTLS: Bool {
        let text = self.text.lowercased()
        return self.head.status == 400 && (text.contains("https") || text.contains("ssl") || text.contains("tls"))
    }
}
