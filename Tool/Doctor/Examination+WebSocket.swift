import Linkspan
import LinkspanNetwork
import LinkspanWebSocketProtocol

@available(macOS 15, *)
extension Examination {
    /// The path and the query of the URL.
    var urlTarget: String { self.plan.url.path + (self.plan.url.query.map { "?\($0)" } ?? "") }

    /// The time, for sentences, of an end before Engine.IO has begun.
    static let beforeOpen = "before the open packet of Engine.IO"

    private var subprotocols: [String] { self.plan.target.subprotocol }

    /// Whether the status may come from a server of the other kind: Socket.IO asked as a raw WebSocket, or the other way round.
    static func mayBeOther(_ status: Int) -> Bool { (200...299).contains(status) || [400, 404].contains(status) }

    /// Opens the WebSocket of the later stages, and looks at how it begins.
    func upgrade() async throws(Verdict) -> Finding {
        let target = self.isRaw ? self.urlTarget : self.socketTarget
        let conversation = self.dialer.open(target, subprotocols: self.isRaw ? self.subprotocols : [])
        self.conversation = conversation
        let start = ContinuousClock.now
        switch await conversation.next() {
        case .opened where self.isRaw: return try await self.beginRaw(conversation, since: start)
        case .opened: return try await self.begin(conversation)
        case .ended(.handshake(let error)):
            let code: Verdict.Code = error.code == .subprotocolNotOffered ? .subprotocolMissing : .badHandshake
            throw Verdict(code, "the answer to the upgrade is wrong: \(error.message)")
        case .ended(.stream(let error)):
            throw await self.isRaw ? self.verdict(rawUpgrade: error) : self.verdict(upgrade: error)
        case .ended(let end): throw self.isRaw ? self.verdict(early: end) : Verdict(end, Self.beforeOpen)
        case nil where self.polled != nil:
            throw Verdict(.upgradeSilent, "the upgrade to a WebSocket is not answered, while polling works")
        default: throw Verdict(ByteStreamError(timedOutIn: .upgrade), to: self.place)
        }
    }

    private func beginRaw(
        _ conversation: Conversation, since start: ContinuousClock.Instant
    ) async throws(Verdict) -> Finding {
        let time = Int(start.duration(to: .now) / .milliseconds(1))
        switch await conversation.nextMessage(within: .milliseconds(300)) {
        // A server that dislikes something may say so only now.
        case .ended(let end)?: throw self.verdict(early: end)
        case .text(let text)? where EngineIOOpen(text) != nil:
            let cause = "\(self.place) is a server of Socket.IO: the WebSocket begins with its open packet"
            var verdict = Verdict(.notWebSocket, cause)
            verdict.remedy = "use http:// or https:// in the URL, as clients of Socket.IO do, and no path"
            throw verdict
        default: return .passed("101 after \(time) ms")
        }
    }

    /// Opens another WebSocket, as a web page would.
    func examineRawOrigin() async throws(Verdict) -> Finding {
        let browser = self.dialer.open(self.urlTarget, origin: self.origin, subprotocols: self.subprotocols)
        defer { browser.close() }
        switch await browser.next() {
        case .opened?: return .passed("pages of \(self.origin) may connect")
        case .ended(.stream(let error))?:
            let limit = error.status.flatMap { Verdict(limit: $0, of: "a second upgrade", nil) }
            throw limit ?? self.refusal(error.message)
        case nil: throw self.verdict(ofSilence: "a second upgrade")
        default: throw self.refusal("the upgrade with this Origin does not succeed")
        }
    }

    /// Waits until a ping is answered, and for as long as the connection may be silent.
    func examineSilence() async throws(Verdict) -> Finding {
        guard let conversation = self.conversation else { return .skipped("not reached") }
        let start = ContinuousClock.now
        let idle = min(self.plan.idle, self.rest)
        conversation.ping()
        while case let left = idle - start.duration(to: .now), left > .zero || !conversation.hasPong {
            switch await conversation.next(within: max(left, conversation.hasPong ? .zero : self.dialer.patience)) {
            case .ended(let end)?: throw self.verdict(idle: end, conversation, nil)
            case nil where !conversation.hasPong:
                throw Verdict(.noPong, "the server does not answer the ping of a WebSocket")
            default: ()
            }
        }
        return .passed("a ping is answered; not cut within \(start.duration(to: .now).seconds)")
    }

    /// Asks again for an upgrade that was refused, to read the body of the answer.
    func refusedUpgrade(_ target: String, _ subprotocols: [String] = []) async -> HTTPAnswer? {
        let handshake = try? ClientHandshake(
            nonce: (.random(in: .min ... .max), .random(in: .min ... .max)), subprotocols: subprotocols)
        return await self.answer(target, headers: handshake?.headers ?? [])
    }

    /// The verdict about a stream that did not become a raw WebSocket.
    private func verdict(rawUpgrade error: ByteStreamError) async -> Verdict {
        guard let status = error.status else { return await self.tlsVerdict() ?? Verdict(error, to: self.place) }
        let answer = await self.refusedUpgrade(self.urlTarget, self.subprotocols)
        let request = "the upgrade of \(self.urlTarget.prefix { $0 != "?" })"
        let (words, text) = (answer?.words ?? "", answer?.text.lowercased() ?? "")
        if status == 400, answer?.wantsTLS == true, let verdict = await self.tlsVerdict() { return verdict }
        if text.contains("subprotocol") || answer?.head["sec-websocket-protocol"] != nil && self.subprotocols.isEmpty {
            return Self.subprotocolMissing(words)
        }
        if status == 426 || status == 505 || status < 500 && status != 404 && text.contains("upgrade") {
            return Verdict(
                .upgradeStripped, "the server did not get the headers of the upgrade: it answered \(status) (\(words))")
        }
        if Self.mayBeOther(status), await self.isSocketIO {
            return Verdict(
                .notWebSocket, "\(self.place) is a server of Socket.IO, and \(request) was answered with \(status)")
        }
        if (200...299).contains(status) {
            let page = words.isEmpty ? "" : " (\(words))"
            return Verdict(.notWebSocket, "\(request) was answered with \(status), as a web page is\(page)")
        }
        return await self.verdict(status: status, of: request, at: self.urlTarget, answer)
    }

    private var isSocketIO: Bool {
        get async {
            await self.answer(self.pollingTarget).map { EngineIOOpen($0.text) != nil } ?? false
        }
    }

    private static func subprotocolMissing(_ words: String) -> Verdict {
        Verdict(.subprotocolMissing, "the server wants a sub-protocol: \(ForeignText.line(words))")
    }

    /// The verdict about a WebSocket that the server ended soon.
    private func verdict(early end: WebSocketEnd) -> Verdict {
        guard case .closed(let event) = end else { return Verdict(end, "at once") }
        let reason = event.reason.lowercased()
        if self.subprotocols.isEmpty, reason.contains("protocol"), event.violation == nil {
            return Self.subprotocolMissing(event.reason)
        }
        if [3000, 4401, 4403].contains(event.code.rawValue) || reason.isAboutCredentials {
            let words = "code \(event.code.rawValue) \(ForeignText.line(event.reason))"
            return Verdict(.authRefused, "the server closed the WebSocket with \(words)")
        }
        return Verdict(end, "at once")
    }

    /// The verdict about a connection that ended while nothing was sent.
    func verdict(idle end: WebSocketEnd, _ conversation: Conversation, _ interval: Duration?) -> Verdict {
        let silence = conversation.lastActivity.duration(to: .now)
        if case .closed(let event) = end, event.code != .noStatus { return Verdict(end, "after \(silence.seconds)") }
        let beat = interval.map { "the server pings every \($0.seconds)" } ?? "nothing was sent"
        return Verdict(.idleCut, "the connection was cut after \(silence.seconds) of silence, while \(beat)")
    }
}

extension String {
    /// Whether a server's words speak of credentials.
    var isAboutCredentials: Bool {
        let text = self.lowercased()
        return ["auth", "token", "credential", "login", "forbidden", "denied", "jwt", "not allowed"].contains {
            text.contains($0)
        }
    }
}

extension Duration {
    /// Seconds with one digit, for sentences.
    var seconds: String { "\(((self / .milliseconds(100)).rounded() / 10).plain) s" }
}
