import Linkspan
import LinkspanNetwork
import LinkspanWebSocketProtocol

@available(macOS 15, *)
extension Examination {
    /// The path and the query of the URL.
    var urlTarget: String { self.plan.url.path + (self.plan.url.query.map { "?\($0)" } ?? "") }

    /// Whether the status may come from a server of the other kind: Socket.IO asked as a raw WebSocket, or the other way round.
    static func mayBeOther(_ status: Int) -> Bool { (200...299).contains(status) || [400, 404].contains(status) }

    /// Examines a raw WebSocket.
    func examineWebSocket() async throws(Verdict) {
        let target = self.urlTarget
        let subprotocols = self.plan.target.subprotocol
        let conversation = try await self.stage(.upgrade) { () throws(Verdict) in
            let conversation = self.dialer.open(target, subprotocols: subprotocols)
            let start = ContinuousClock.now
            switch await conversation.next() {
            case .opened:
                switch await conversation.nextMessage(within: .milliseconds(300)) {
                // A server that dislikes something may say so only now.
                case .ended(let end)?: throw Self.verdict(end, "at once", hasSubprotocol: !subprotocols.isEmpty)
                case .text(let text)? where EngineIOOpen(text) != nil:
                    conversation.close()
                    let cause = "\(self.place) is a server of Socket.IO: the WebSocket begins with its open packet"
                    var verdict = Verdict(.notWebSocket, cause)
                    verdict.remedy = "use http:// or https:// in the URL, as clients of Socket.IO do, and no path"
                    throw verdict
                default: ()
                }
                return (conversation, "101 after \(Int(start.duration(to: .now) / .milliseconds(1)) - 300) ms")
            case .ended(let end): throw await self.verdict(upgrade: end, target, subprotocols)
            default: throw Verdict(ByteStreamError(timedOutIn: .upgrade), to: self.place)
            }
        }
        await self.optionalStage(.origin) { () throws(Verdict) in
            let browser = self.dialer.open(target, origin: self.origin, subprotocols: subprotocols)
            defer { browser.close() }
            switch await browser.next() {
            case .opened?: return "pages of \(self.origin) may connect"
            case .ended(.stream(let error))?:
                let limit = error.status.flatMap { Verdict(limit: $0, of: "a second upgrade", nil) }
                throw limit ?? self.refusal(error.message)
            case nil: throw self.verdict(ofSilence: "a second upgrade")
            default: throw self.refusal("the upgrade with this Origin does not succeed")
            }
        }
        try await self.stage(.heartbeat) { () throws(Verdict) in
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
            conversation.close()
            return ((), "a ping is answered; not cut within \(start.duration(to: .now).seconds)")
        }
    }

    /// The verdict about an upgrade that failed.
    private func verdict(upgrade end: WebSocketEnd, _ target: String, _ subprotocols: [String]) async -> Verdict {
        switch end {
        case .stream(let error):
            guard let status = error.status else {
                if let verdict = await self.tlsVerdict() { return verdict }
                return Verdict(error, to: self.place)
            }
            return await self.verdict(refusal: status, target, subprotocols)
        case .handshake(let error): return .handshake(error)
        default: return Self.verdict(end, "at once", hasSubprotocol: !subprotocols.isEmpty)
        }
    }

    /// Asks again for an upgrade that was refused, to read the body of the answer.
    func refusedUpgrade(_ target: String, _ subprotocols: [String] = []) async -> HTTPAnswer? {
        let handshake = try? ClientHandshake(
            nonce: (.random(in: .min ... .max), .random(in: .min ... .max)), subprotocols: subprotocols)
        return try? await self.exchange(self.dialer.request(target, headers: handshake?.headers ?? [])).get()
    }

    private func verdict(refusal status: Int, _ target: String, _ subprotocols: [String]) async -> Verdict {
        let answer = await self.refusedUpgrade(target, subprotocols)
        let request = "the upgrade of \(target.prefix { $0 != "?" })"
        let (words, text) = (answer?.words ?? "", answer?.text.lowercased() ?? "")
        if status == 400, answer?.wantsTLS == true, let verdict = await self.tlsVerdict() { return verdict }
        if text.contains("subprotocol") || answer?.head["sec-websocket-protocol"] != nil && subprotocols.isEmpty {
            return .subprotocol(words)
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
        return await self.verdict(status: status, of: request, at: target, answer)
    }

    private var isSocketIO: Bool {
        get async {
            guard case .success(let answer) = await self.exchange(self.dialer.request(self.pollingTarget)) else {
                return false
            }
            return EngineIOOpen(answer.text) != nil
        }
    }

    /// The verdict about a WebSocket that the server ended soon.
    private static func verdict(_ end: WebSocketEnd, _ time: String, hasSubprotocol: Bool) -> Verdict {
        guard case .closed(let event) = end else { return Verdict(end, time) }
        let reason = event.reason.lowercased()
        if !hasSubprotocol, reason.contains("protocol"), event.violation == nil { return .subprotocol(event.reason) }
        if [3000, 4401, 4403].contains(event.code.rawValue) || reason.isAboutCredentials {
            let words = "code \(event.code.rawValue) \(ForeignText.line(event.reason))"
            return Verdict(.authRefused, "the server closed the WebSocket with \(words)")
        }
        return Verdict(end, time)
    }

    /// The verdict about a connection that ended while nothing was sent.
    func verdict(idle end: WebSocketEnd, _ conversation: Conversation, _ interval: Duration?) -> Verdict {
        let silence = conversation.lastActivity.duration(to: .now)
        if case .closed(let event) = end, event.code != .noStatus { return Verdict(end, "after \(silence.seconds)") }
        let beat = interval.map { "the server pings every \($0.seconds)" } ?? "nothing was sent"
        return Verdict(.idleCut, "the connection was cut after \(silence.seconds) of silence, while \(beat)")
    }
}

extension Verdict {
    /// The verdict about an answer to the upgrade that breaks a rule.
    static func handshake(_ error: WebSocketProtocolError) -> Self {
        let code: Code = error.code == .subprotocolNotOffered ? .subprotocolMissing : .badHandshake
        return Self(code, "the answer to the upgrade is wrong: \(error.message)")
    }

    fileprivate static func subprotocol(_ words: String) -> Self {
        Self(.subprotocolMissing, "the server wants a sub-protocol: \(ForeignText.line(words))")
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
