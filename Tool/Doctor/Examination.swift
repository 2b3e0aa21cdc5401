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

    /// Prepares an examination, which calls `begin` when a stage begins and `show` when its result is the report's last.
    init(_ plan: Plan, begin: @escaping (Stage) -> Void, show: @escaping (Report) -> Void) {
        (self.plan, self.begin, self.show) = (plan, begin, show)
        self.report = Report(url: "\(plan.url)")
        self.deadline = .now + plan.timeout
    }

    /// The time that is left.
    var rest: Duration { max(.zero, ContinuousClock.now.duration(to: self.deadline)) }

    /// Host and port, for sentences.
    var place: String { self.plan.url.authority }

    /// Whether a raw WebSocket is examined.
    var isRaw: Bool { self.plan.target.wire == .websocket }

    /// Examines every stage.
    func run() async -> Report {
        do throws(Verdict) {
            try await self.examineNetwork()
            if self.isRaw { try await self.examineWebSocket() } else { try await self.examineSocketIO() }
        } catch {
            // The stage has been recorded with it.
        }
        let done = Set(self.report.stages.map(\.stage))
        for stage in Stage.allCases where !done.contains(stage) && self.applies(stage) {
            self.skip(stage, "not reached")
        }
        return self.report
    }

    private func applies(_ stage: Stage) -> Bool {
        switch stage {
        case .proxy: self.dialer.proxy != nil
        case .tls: self.plan.url.isSecure
        case .http, .namespace, .messageSize, .polling, .switching: !self.isRaw
        default: true
        }
    }

    // MARK: - Recording

    /// Runs a stage, whose body returns a value and what was found; a verdict that it throws is recorded as its failure, or
    /// as a warning.
    func stage<Value>(
        _ stage: Stage, _ body: () async throws(Verdict) -> (Value, String)
    ) async throws(Verdict) -> Value {
        let start = ContinuousClock.now
        self.begin(stage)
        do throws(Verdict) {
            guard self.rest > .milliseconds(300) else {
                throw Verdict(.timeUp, "\(self.plan.timeout.seconds) were over before the stage \(stage.rawValue)")
            }
            let (value, detail) = try await body()
            self.record(stage, .passed, detail, since: start)
            return value
        } catch {
            self.record(stage, error.isWarning ? .warned : .failed, error.cause, error, since: start)
            throw error
        }
    }

    /// Runs a stage that is left out when no time is left, because no other depends on it; false when it has failed.
    @discardableResult
    func optionalStage(_ stage: Stage, _ body: () async throws(Verdict) -> String) async -> Bool {
        guard self.rest > .milliseconds(300) else {
            self.skip(stage, "no time is left; --timeout gives more")
            return true
        }
        return (try? await self.stage(stage) { () throws(Verdict) in ((), try await body()) }) != nil
    }

    /// Records a weakness that no stage failed for.
    func warn(_ verdict: Verdict) { self.report.warn(verdict) }

    func skip(_ stage: Stage, _ why: String) { self.record(stage, .skipped, why, since: .now) }

    private func record(
        _ stage: Stage, _ outcome: StageResult.Outcome, _ detail: String, _ verdict: Verdict? = nil,
        since start: ContinuousClock.Instant
    ) {
        let time = Int(start.duration(to: .now) / .milliseconds(1))
        let result = StageResult(stage: stage, outcome: outcome, detail: detail, milliseconds: time)
        self.report.add(result, verdict)
        self.show(self.report)
    }

    /// An exchange of HTTP, whose time counts as a round trip.
    func exchange(_ request: StreamRequest) async -> Result<HTTPAnswer, ByteStreamError> {
        let start = ContinuousClock.now
        let result = await self.dialer.exchange(request)
        if case .success = result { self.roundTrip = min(self.roundTrip, start.duration(to: .now)) }
        return result
    }

    /// The verdict about a status that does not serve; some firewalls refuse every request without User-Agent.
    func verdict(status: Int, of request: String, at target: String, _ answer: HTTPAnswer?) async -> Verdict {
        var verdict = Verdict(status: status, of: request, answer)
        let agent = [("User-Agent", "linkspan/\(LinkspanCommand.version)")]
        let hasAgent = self.dialer.headers.contains { $0.name.lowercased() == "user-agent" }
        guard verdict.code == .forbidden, !hasAgent,
            case .success(let plain) = await self.exchange(self.dialer.request(target)), plain.head.status == status,
            case .success(let named) = await self.exchange(self.dialer.request(target, headers: agent)),
            named.head.status != status
        else { return verdict }
        verdict.cause += ", and with a header User-Agent with \(named.head.status)"
        verdict.remedy = "let clients send a User-Agent (--header 'User-Agent: …'), or let the firewall do without it"
        return verdict
    }

    /// The verdict about a request that is not answered while a WebSocket is open, and was before.
    func verdict(ofSilence request: String) -> Verdict {
        let cause = "\(request) is not answered while a WebSocket is open, as those before it were"
        return Verdict(.connectionLimit, "\(cause): a limit of connections, or a server that serves one at a time")
    }

    // MARK: - Name, addresses, proxy, TLS

    private func examineNetwork() async throws(Verdict) {
        if self.dialer.proxy == nil {
            try await self.examineAddresses(try await self.findAddresses())
        } else {
            self.skip(.name, "the proxy looks the name up")
            self.skip(.address, "the proxy connects")
            try await self.stage(.proxy) { () throws(Verdict) in
                let answer = await self.exchange(self.dialer.request("/"))
                if case .failure(let error) = answer, error.isOfProxy { throw Verdict(error, to: self.place) }
                return ((), "connects to \(self.place)")
            }
        }
        if self.plan.url.isSecure { try await self.examineTLS() }
    }

    private func findAddresses() async throws(Verdict) -> [String] {
        let host = self.plan.url.host
        guard !NumericAddress.isIPv4(host), !NumericAddress.isIPv6(host) else {
            self.skip(.name, "\(host) is an address")
            return [host]
        }
        return try await self.stage(.name) { () throws(Verdict) in
            switch await self.dialer.addresses(of: host) {
            case .success(let addresses): return (addresses, "\(host) is \(addresses.joined(separator: ", "))")
            case .failure(let error): throw Verdict(error, to: self.place)
            }
        }
    }

    /// Connects to every address, at the same time.
    private func examineAddresses(_ addresses: [String]) async throws(Verdict) {
        let (port, patience) = (self.plan.url.port, min(self.dialer.patience, .seconds(5)))
        let start = ContinuousClock.now
        let errors: [String: Int32] = await withTaskGroup(of: (String, Int32).self) { group in
            for address in addresses {
                group.addTask { (address, await Dialer.error(at: address, port: port, within: patience)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        let failed = addresses.filter { errors[$0] != 0 }
        let problem = failed.map { address in
            switch errors[address] ?? 0 {
            case ECONNREFUSED: "\(address) refuses the connection"
            case ETIMEDOUT: "\(address) does not answer"
            case let error: "\(address) cannot be reached (\(String(cString: strerror(error))))"
            }
        }.joined(separator: ", ")
        if failed.isEmpty {
            return self.record(.address, .passed, "TCP connects to \(addresses.joined(separator: ", "))", since: start)
        }
        let isDead = failed.count == addresses.count
        let code: Verdict.Code =
            !isDead ? .deadAddress : errors.values.contains(ECONNREFUSED) ? .connectionRefused : .unreachable
        let verdict = Verdict(code, "\(self.place) is not reached by TCP: \(problem)")
        self.record(.address, isDead ? .failed : .warned, problem, verdict, since: start)
        if isDead { throw verdict }
    }

    private func examineTLS() async throws(Verdict) {
        try await self.stage(.tls) { () throws(Verdict) in
            let chain = Lock<[Certificate]>([])
            var request = self.dialer.request("/")
            let asksForCertificate = Lock(false)
            request.onHandshake = { event in
                switch event {
                case .certificates(let found): chain.withLock { $0 = found.compactMap { Certificate(der: $0) } }
                case .certificateRequest: asksForCertificate.withLock { $0 = true }
                }
            }
            let answer = await self.exchange(request)
            self.report.certificates = chain.withLock { $0 }
            if case .failure(let error) = answer, asksForCertificate.withLock({ $0 }),
                [.closedByPeer, .unreachable].contains(error.code) || error.code.tlsFailure == .handshakeCut
                    || error.code.tlsFailure == .other && error.message.isAlert("handshake failure")
            {
                let cause = "\(self.place) asks for a certificate of the client, gets none and closes the connection"
                throw Verdict(.clientCertificateWanted, cause)
            }
            guard case .failure(let error) = answer,
                error.code.tlsFailure != nil || error.stage == .tls || self.report.certificates?.isEmpty == true
            else {
                let pins = self.plan.target.pin.isEmpty ? "" : ", and a pinned key"
                return ((), "the chain is trusted\(pins)\(self.report.chain)")
            }
            if [.other, .handshakeCut].contains(error.code.tlsFailure) || error.stage == .tls {
                switch await self.dialer.exchange(self.dialer.request("/", isSecure: false)) {
                case .success(let answer) where !answer.wantsTLS:
                    throw Verdict(.plainServer, "\(self.place) speaks HTTP without TLS")
                case .failure(let error) where error.code == .handshakeMalformed: throw Verdict(error, to: self.place)
                default: ()
                }
            }
            var verdict = Verdict(error, to: self.place)
            if [.unreachable, .closedByPeer].contains(error.code) {
                verdict = Verdict(.tlsFailed, "\(self.place) takes the connection and ends it during the TLS handshake")
            }
            verdict.cause += self.report.chain
            throw verdict
        }
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

    /// The origin that a browser would send.
    var origin: String {
        let (url, scheme) = (self.plan.url, self.plan.url.isSecure ? "https" : "http")
        let isStandard = url.port == (url.isSecure ? 443 : 80)
        return self.plan.origin
            ?? "\(scheme)://\(isStandard ? String(self.place.dropLast("\(url.port)".count + 1)) : self.place)"
    }

    /// The verdict about an origin that is refused: a fault of an origin that was asked about, else a warning.
    func refusal(_ cause: String) -> Verdict {
        var verdict = Verdict(.originRefused, "web pages of \(self.origin) are refused: \(cause)")
        verdict.isWarning = self.plan.origin == nil
        return verdict
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
