import Linkspan
import LinkspanNetwork

/// The server's values in the open packet of Engine.IO, as they were sent.
struct EngineIOOpen: Sendable {
    var sid: String
    var upgrades: [String]
    var pingInterval: Duration
    var pingTimeout: Duration
    /// The most bytes of a message; nil when the server does not say.
    var maxPayload: Int?

    /// Usable times in milliseconds, up to months.
    private static let times = 0.001...1e10

    /// Reads an open packet of version 4; nil when the text is something else.
    init?(_ text: some StringProtocol) {
        guard text.first == "0", let object = try? PayloadValue(json: String(text.dropFirst())),
            let sid = object["sid"]?.string, let interval = object["pingInterval"]?.double,
            Self.times.contains(interval),
            let timeout = object["pingTimeout"]?.double, Self.times.contains(timeout)
        else { return nil }
        self.sid = sid
        self.upgrades = object["upgrades"]?.elements?.compactMap(\.string) ?? []
        (self.pingInterval, self.pingTimeout) = (.milliseconds(interval), .milliseconds(timeout))
        self.maxPayload = object["maxPayload"]?.int
    }
}

@available(macOS 15, *)
extension Examination {
    private var query: String { self.plan.url.query.map { "&\($0)" } ?? "" }
    private var path: String { self.plan.target.path }
    private var namespace: String { self.plan.url.path }
    /// Never the same, so that no cache answers.
    var pollingTarget: String {
        "\(self.path)?EIO=4&transport=polling&t=\(UInt64.random(in: 0...(.max)))\(self.query)"
    }
    var socketTarget: String { "\(self.path)?EIO=4&transport=websocket\(self.query)" }
    /// What the packet of a namespace begins with after its type.
    private var prefix: String { self.namespace == "/" ? "" : "\(self.namespace)," }

    /// The packet that connects to the namespace.
    private var connect: String { "40\(self.prefix)\(self.plan.target.auth ?? "")" }

    // MARK: - HTTP

    /// Asks for a session by polling.
    func examineHTTP() async throws(Verdict) -> Finding {
        switch await self.exchange(self.dialer.request(self.pollingTarget)) {
        case .success(let answer):
            self.polled = try await self.judge(answer)
            guard let polled = self.polled else { return .passed("polling is switched off (\(answer.words))") }
            return .passed("200, Engine.IO 4, session \(ForeignText.line(polled.sid, limit: 24))")
        case .failure(let error):
            if let verdict = await self.tlsVerdict() { throw verdict }
            guard error.code == .timedOut else { throw Verdict(error, to: self.place) }
            throw await self.verdictOfSilence(error)
        }
    }

    /// The open packet of an answer; nil when it says that polling is switched off.
    private func judge(_ answer: HTTPAnswer) async throws(Verdict) -> EngineIOOpen? {
        let (status, words) = (answer.head.status, answer.words)
        let packets = answer.text.split(separator: "\u{1E}")
        if status == 200, let open = packets.first.flatMap({ EngineIOOpen($0) }) { return open }
        let code = (try? PayloadValue(json: answer.text))?["code"]?.int
        let coding = answer.head["content-encoding"] ?? "identity"
        switch status {
        case 200 where answer.body.first == 0 || answer.text.isLegacyPayload: throw self.oldProtocol
        case _ where code == 5, 400 where words.contains("unsupported version"):
            throw await self.verdictOfVersion()
        case _ where coding != "identity":
            throw Verdict(.badOpen, "the answer is compressed (\(ForeignText.line(coding))), which was not asked for")
        case 400 where words.lowercased().contains("upgrade"), 426:
            throw Self.rawWebSocket("\(self.place)\(self.path) is a raw WebSocket and not Socket.IO: \(words)")
        case 400 where code == 0 || words.lowercased().contains("transport"): return nil
        case 200 where packets.first?.hasPrefix("0{") == true: throw Self.badOpen(answer.text)
        default: ()
        }
        if status == 400, answer.wantsTLS, let verdict = await self.tlsVerdict() { throw verdict }
        if Self.mayBeOther(status), await self.isWebSocket {
            throw Self.rawWebSocket(
                "\(self.place)\(self.namespace) is a raw WebSocket, and \(self.path) was answered with \(status)")
        }
        if Self.mayBeOther(status), let path = await self.pathBelow() {
            let cause = "\(self.place)\(self.path) is no Socket.IO server, but \(path) is one"
            var verdict = Verdict(.notFound, "\(cause): the path of a URL is a namespace")
            verdict.remedy = "take the path from the URL, and pass --path \(path) (the option path in an app)"
            throw verdict
        }
        if (200...299).contains(status) {
            let kind = answer.body.isEmpty ? "nothing" : answer.isPage ? "a web page" : "other text"
            let body = words.isEmpty ? kind : "\(kind) (\(words))"
            throw Verdict(.notSocketIO, "\(self.place)\(self.path) is no Socket.IO server: it answered \(body)")
        }
        throw await self.verdict(status: status, of: "GET \(self.path)", at: self.pollingTarget, answer)
    }

    /// The verdict about a raw WebSocket whose URL is that of Socket.IO.
    private static func rawWebSocket(_ cause: String) -> Verdict {
        var verdict = Verdict(.notSocketIO, cause)
        verdict.remedy = "use ws:// or wss:// in the URL, as clients of raw WebSockets do"
        return verdict
    }

    /// Whether the path of the URL is a raw WebSocket.
    private var isWebSocket: Bool {
        get async {
            let conversation = self.dialer.open(self.urlTarget)
            defer { conversation.close() }
            guard case .opened? = await conversation.next() else { return false }
            // Some servers of Socket.IO accept an upgrade at any path.
            guard case .text(let text)? = await conversation.nextMessage(within: .milliseconds(300)) else {
                return true
            }
            return !text.hasPrefix("0{")
        }
    }

    /// The path below that of the URL at which a server of Socket.IO answers; nil when there is none.
    private func pathBelow() async -> String? {
        let path = "/" + self.namespace.split(separator: "/").joined(separator: "/") + "/socket.io/"
        let target = self.pollingTarget.replacing(self.path, with: path, maxReplacements: 1)
        guard self.namespace != "/", path != self.path, let answer = await self.answer(target) else { return nil }
        return EngineIOOpen(answer.text) == nil ? nil : path
    }

    private static func badOpen(_ text: String) -> Verdict {
        let packet = ForeignText.line(text, limit: 120)
        return Verdict(.badOpen, "the open packet has no usable sid, pingInterval or pingTimeout: \(packet)")
    }

    private var oldProtocol: Verdict {
        Verdict(.oldProtocol, "\(self.place) speaks Engine.IO 3 of Socket.IO 2.x, and this client version 4")
    }

    /// The verdict about a server that does not take the version: an old one takes its own.
    private func verdictOfVersion() async -> Verdict {
        let target = self.pollingTarget.replacing("EIO=4", with: "EIO=3")
        guard let answer = await self.answer(target), answer.head.status != 200 else { return self.oldProtocol }
        let cause = "\(self.place) sees neither version 4 nor 3 of Engine.IO"
        return Verdict(.queryLost, "\(cause): a proxy seems to drop the query of the URL")
    }

    /// The verdict about polling that is not answered.
    private func verdictOfSilence(_ error: ByteStreamError) async -> Verdict {
        let conversation = self.dialer.open(self.socketTarget)
        defer { conversation.close() }
        guard case .opened? = await conversation.next() else { return Verdict(error, to: self.place) }
        guard case .text(let text)? = await conversation.nextMessage(), EngineIOOpen(text) != nil else {
            return Verdict(
                .noOpen, "\(self.place) accepts WebSockets and sends no open packet of Engine.IO, nor answers polling")
        }
        return Verdict(.pollingSilent, "\(self.place) serves WebSockets, and does not answer long polling")
    }

    // MARK: - Origin

    func examineOrigin() async throws(Verdict) -> Finding {
        guard self.polled != nil else { return .skipped("needs polling") }
        switch await self.exchange(self.dialer.request(self.pollingTarget, origin: self.origin)) {
        case .success(let answer) where answer.head.status == 200:
            let allowed = answer.head["access-control-allow-origin"]
            guard let origin = self.plan.origin, allowed != origin, allowed != "*" else {
                return .passed("pages of \(self.origin) may connect")
            }
            let isDouble = allowed?.contains(",") == true
            let origins = allowed.map { "the server allows \(ForeignText.line($0))" } ?? "the answer allows no origin"
            let cause = isDouble ? "\(origins): the server and a proxy both add the header, and only one may" : origins
            throw Verdict(.corsMissing, "browsers keep the answers from web pages of \(origin): \(cause)")
        case .success(let answer):
            throw Verdict(limit: answer.head.status, of: "a GET by polling", answer)
                ?? self.refusal("\(answer.head.status) \(answer.words)")
        case .failure(let error): throw self.refusal(error.message)
        }
    }

    // MARK: - WebSocket

    /// Reads the open packet of the WebSocket, and takes the time of a round trip.
    func begin(_ conversation: Conversation) async throws(Verdict) -> Finding {
        switch await conversation.nextMessage() {
        case .text(let text):
            guard let open = EngineIOOpen(text) else {
                if text.hasPrefix("0{") { throw Self.badOpen(text) }
                let cause = "the WebSocket at \(self.path) is not Socket.IO: it began with "
                throw Verdict(.notSocketIO, cause + ForeignText.line(text, limit: 60))
            }
            self.open = open
            try await self.measureRoundTrip(conversation)
            return .passed("101, ping every \(open.pingInterval.seconds), \(open.pingTimeout.seconds) to answer")
        case .ended(let end): throw Verdict(end, Self.beforeOpen)
        case .binary:
            throw Verdict(.badOpen, "the open packet of Engine.IO comes as a binary frame, and has to be text")
        case nil where self.polled != nil:
            throw Verdict(.upgradeSilent, "the WebSocket is accepted and carries nothing, while polling works")
        default: throw Verdict(.noOpen, "the server accepts the WebSocket and sends no open packet of Engine.IO")
        }
    }

    /// Takes the time of a ping of the WebSocket, which is that of Engine.IO, for the round trip.
    private func measureRoundTrip(_ conversation: Conversation) async throws(Verdict) {
        let start = ContinuousClock.now
        conversation.ping()
        switch await conversation.next(within: self.roundTrip) {
        case .pong: self.roundTrip = start.duration(to: .now)
        case .ended(let end): throw Verdict(end, "after the open packet of Engine.IO")
        // Engine.IO 3 connects the main namespace unasked.
        case .text(let text) where text.hasPrefix("40"): throw self.oldProtocol
        case .text(let text): try self.check(text, "after its open packet")
        default: ()
        }
    }

    /// Throws the verdict about a packet that ends the session.
    private func check(_ packet: String, _ time: String) throws(Verdict) {
        if packet == "1" { throw Verdict(.closedByServer, "the server closed the session \(time)") }
        guard packet.hasPrefix("41") else { return }
        throw Verdict(
            .disconnected, "the server accepts the connection to \(self.namespace) and disconnects it at once")
    }

    /// The verdict about a stream that did not become a WebSocket.
    func verdict(upgrade error: ByteStreamError) async -> Verdict {
        let answer = error.status == nil ? nil : await self.refusedUpgrade(self.socketTarget)
        if let polled, let answer, EngineIOOpen(answer.text)?.sid == polled.sid {
            return Verdict(.cached, "the upgrade got the answer of an earlier request: a proxy answers from its cache")
        }
        // A server or a proxy that does not see an upgrade answers with one of these.
        guard let polled, error.status.map({ $0 < 300 || [400, 426, 500, 501].contains($0) }) ?? true else {
            guard let status = error.status else { return Verdict(error, to: self.place) }
            let request = "the upgrade of \(self.path)"
            // A limit of requests refuses polling too by now.
            if polled != nil, let limit = Verdict(limit: status, of: request, answer),
                await self.answer(self.pollingTarget)?.head.status == status
            {
                return limit
            }
            return Verdict(status: status, of: request, answer)
        }
        let words = answer?.words ?? ""
        let cause = error.status.map { "was answered with \($0) \(words)" } ?? "failed (\(error.message))"
        // Some servers offer an upgrade that they do not take.
        guard polled.upgrades.contains("websocket"), !words.lowercased().contains("transport") else {
            return Verdict(.pollingOnly, "the server serves polling alone: the upgrade to a WebSocket \(cause)")
        }
        return Verdict(.upgradeStripped, "polling works and the server offers WebSockets, but the upgrade \(cause)")
    }

    // MARK: - Namespace and size

    /// Whether the ping timeout of the server is longer than a round trip; otherwise the server closes the connection soon.
    private var hasTime: Bool { self.open.map { $0.pingTimeout > self.roundTrip } ?? false }

    func join() async throws(Verdict) -> Finding {
        // The last stage tells the reason why the server closes the connection.
        guard let conversation = self.conversation, self.hasTime else {
            self.isJoined = true
            return .passed("not asked")
        }
        conversation.send(self.connect)
        while !self.isJoined {
            switch await conversation.nextMessage() {
            case .text(let text) where text.hasPrefix("40"):
                guard text.contains("sid") else { throw self.oldProtocol }
                self.isJoined = true
            case .text(let text) where text.hasPrefix("44"):
                throw self.refusal(of: String(text.dropFirst(2 + self.prefix.count)))
            case .text(let text): try self.check(text, "at the CONNECT of \(self.namespace)")
            case .ended(let end): throw Verdict(end, "at the CONNECT of \(self.namespace)")
            case nil where conversation.hasPong:
                throw Verdict(.namespaceSilent, "the CONNECT of \(self.namespace) is not answered")
            case nil: throw Verdict(.noPong, "neither a ping of the WebSocket nor the CONNECT is answered")
            default: ()
            }
        }
        return .passed("\(self.namespace) accepts the connection")
    }

    /// The verdict about an error that answers CONNECT.
    private func refusal(of text: String) -> Verdict {
        let value = try? PayloadValue(json: text)
        let words = value?["message"]?.string ?? value?.string ?? text
        let cause = "the namespace \(self.namespace) refuses the connection: \(ForeignText.line(words))"
        // So say servers in JavaScript and in Python; the main namespace always exists.
        let isUnknown = self.namespace != "/" && ["Invalid namespace", "Unable to connect"].contains(words)
        var verdict = Verdict(isUnknown ? .namespaceRefused : .authRefused, cause)
        if self.namespace.split(separator: "/") == self.path.split(separator: "/") {
            verdict.remedy = "leave \(self.namespace) out of the URL, whose path is a namespace: --path stands for it"
        }
        return verdict
    }

    func examineSize() async throws(Verdict) -> Finding {
        guard let conversation = self.conversation, let open = self.open, self.isJoined, self.hasTime else {
            return .skipped("not reached")
        }
        let size = self.plan.messageSize
        if let most = open.maxPayload, most < size {
            throw Verdict(.messageLimit, "the server takes messages of at most \(most) bytes, fewer than \(size)")
        }
        // The data of a pong of Engine.IO reaches no app.
        conversation.send("3" + String(repeating: "x", count: size - 1))
        conversation.ping()
        while let event = await conversation.next() {
            switch event {
            case .ended: throw Verdict(.messageLimit, "a message of \(size) bytes ends the connection")
            case .text(let text) where text != "1": try self.check(text, "")
            case .pong: return .passed("\(size) bytes arrive" + (open.maxPayload.map { "; the limit is \($0)" } ?? ""))
            default: ()
            }
        }
        guard !conversation.hasPong else {
            throw Verdict(.messageLimit, "nothing is answered behind a message of \(size) bytes: it seems held up")
        }
        return .passed("\(size) bytes do not end the connection")
    }

    // MARK: - Polling

    /// Runs sessions by polling, each request over a connection of its own, first without cookies.
    func examinePolling() async throws(Verdict) -> Finding {
        guard self.polled != nil else { return .skipped("the server has polling switched off") }
        var cookies = false
        do throws(Verdict) {
            for _ in 1...4 { try await self.poll(withCookies: false, &cookies) }
            self.hasPolling = true
            return .passed("4 sessions, each request over its own connection")
        } catch {
            guard cookies else { throw error }
            for _ in 1...4 {
                guard (try? await self.poll(withCookies: true, &cookies)) != nil else { throw error }
            }
            self.hasPolling = true
            return .passed("sessions stick to a server by a cookie, which clients have to keep")
        }
    }

    /// Runs one session, and notes whether the server sets cookies.
    private func poll(withCookies: Bool, _ cookies: inout Bool) async throws(Verdict) {
        let (answer, open) = try await self.openSession()
        cookies = cookies || !answer.cookies.isEmpty
        let headers = (withCookies ? answer.cookies : []) + [("Content-Type", "text/plain;charset=UTF-8")]
        let target = "\(self.pollingTarget)&sid=\(open.sid)"
        // Without a namespace that accepts it, a session carries an answer to a ping.
        let steps: [StreamRequest.Purpose] = self.isJoined ? [.post(Array(self.connect.utf8)), .get] : []
        // The data of a pong reaches no app; the size that the server states is another stage's.
        let size = max(1, min(self.plan.messageSize, open.maxPayload ?? .max))
        let pong = "3" + String(repeating: "x", count: size - 1)
        for purpose in steps + [.post(Array(pong.utf8)), .post(Array("1".utf8))] {
            switch await self.exchange(self.dialer.request(target, purpose, headers: headers)) {
            case .success(let answer) where answer.head.status != 200:
                throw self.verdict(polling: answer, purpose)
            case .failure(let error) where error.code == .timedOut:
                guard case .post(let body) = purpose else {
                    throw Verdict(.pollingSilent, "a GET of a session by polling is not answered")
                }
                throw Verdict(.messageLimit, "a POST of \(body.count) bytes by polling is not answered")
            case .failure(let error): throw Verdict(error, to: self.place)
            case .success: ()
            }
        }
    }

    private func openSession() async throws(Verdict) -> (HTTPAnswer, EngineIOOpen) {
        switch await self.exchange(self.dialer.request(self.pollingTarget)) {
        case .success(let answer):
            guard answer.head.status == 200, let open = try await self.judge(answer) else {
                throw self.verdict(polling: answer, .get)
            }
            return (answer, open)
        case .failure(let error) where error.code == .timedOut:
            throw self.verdict(ofSilence: "a request of a new session by polling")
        case .failure(let error): throw Verdict(error, to: self.place)
        }
    }

    /// The verdict about a refused request of a session, which the server has just opened.
    private func verdict(polling answer: HTTPAnswer, _ purpose: StreamRequest.Purpose) -> Verdict {
        let (status, words) = (answer.head.status, answer.words)
        let code = (try? PayloadValue(json: answer.text))?["code"]?.int
        guard
            code == 1
                || (400...410).contains(status) && ["session", "sid"].contains(where: words.lowercased().contains)
        else {
            let isPost = if case .post = purpose { true } else { false }
            let request = "a \(isPost ? "POST" : "GET") by polling"
            return Verdict(limit: status, of: request, answer) ?? Verdict(status: status, of: request, answer)
        }
        return Verdict(
            .sessionsSplit, "a request of a new session by polling was refused as unknown: \(status) \(words)")
    }

    /// Changes a session from polling to a WebSocket.
    func examineSwitch() async throws(Verdict) -> Finding {
        guard let polled = self.polled else { return .skipped("the server has polling switched off") }
        guard self.hasPolling else { return .skipped("polling does not work") }
        guard (polled.upgrades + (self.open?.upgrades ?? [])).contains("websocket") else {
            return .skipped("the server does not offer it")
        }
        func failure(_ cause: String) -> Verdict {
            Verdict(.switchFailed, "a session by polling cannot change to a WebSocket: \(cause)")
        }
        let (answer, open) = try await self.openSession()
        let conversation = self.dialer.open("\(self.socketTarget)&sid=\(open.sid)", headers: answer.cookies)
        defer { conversation.close() }
        switch await conversation.next() {
        case .opened: ()
        case .ended(.stream(let error)): throw failure(error.message)
        default: throw failure("the upgrade is not answered")
        }
        conversation.send("2probe")
        guard case .text("3probe")? = await conversation.nextMessage() else {
            throw failure("the probe is not answered")
        }
        conversation.send("5")
        return .passed("a session changed to a WebSocket")
    }

    // MARK: - Heartbeat

    func examineHeartbeat() async throws(Verdict) -> Finding {
        guard let conversation = self.conversation, let open = self.open,
            self.report.health != .fault || !self.hasTime
        else { return .skipped("not reached") }
        let beat = open.pingInterval + open.pingTimeout
        guard self.hasTime else {
            let cause = "the server waits \(open.pingTimeout.seconds) for the answer to its ping"
            throw Verdict(.pingTimeoutTooShort, "\(cause), and the round trip takes \(self.roundTrip.seconds)")
        }
        var (limit, ping) = (min(beat + .seconds(1), self.rest), String?.none)
        let start = ContinuousClock.now
        let waited = { start.duration(to: .now).seconds }
        while case let left = limit - start.duration(to: .now), left > .zero {
            switch await conversation.next(within: left) {
            case .ping where ping == nil:
                // A server that got the answer too late closes after its patience.
                if open.pingTimeout < .seconds(2),
                    case .ended(let end)? = await conversation.nextMessage(within: open.pingTimeout + self.roundTrip)
                {
                    throw self.verdict(idle: end, conversation, open.pingInterval)
                }
                ping = "a ping within \(waited()), as every \(open.pingInterval.seconds)"
                // Some proxies cut each connection at an age, however much it carries.
                limit = min(limit, .seconds(3))
            case .text(let text): try self.check(text, "after \(waited())")
            case .ended(let end):
                let verdict = self.verdict(idle: end, conversation, open.pingInterval)
                let silence = conversation.lastActivity.duration(to: .now)
                guard ping != nil, verdict.code == .idleCut, silence < open.pingInterval else { throw verdict }
                let cause = "the connection was cut \(silence.seconds) after its last message, although pings every "
                throw Verdict(.lifetimeCut, cause + "\(open.pingInterval.seconds) are answered")
            default: ()
            }
        }
        let promise = "the server pings every \(open.pingInterval.seconds)"
        if open.pingInterval > .seconds(120) {
            let cause = "\(promise): clients note a loss no sooner"
            self.warn(Verdict(.pingsTooRare, "\(cause), and most proxies cut a connection that is silent for a minute"))
        }
        if let ping { return .passed(ping) }
        guard limit > beat else {
            return .passed("not cut within \(limit.seconds); \(promise): --timeout gives more time")
        }
        throw Verdict(.noPings, "no ping came within \(limit.seconds), while \(promise) by its own words")
    }
}

extension HTTPAnswer {
    /// The header field with which a client gives the cookies of the answer back; none without cookies.
    fileprivate var cookies: [StreamRequest.Header] {
        let cookies = self.head.values("set-cookie").compactMap { $0.split(separator: ";").first }
        return cookies.isEmpty ? [] : [("Cookie", cookies.joined(separator: "; "))]
    }
}

extension String {
    /// Whether this is a body of Engine.IO 3: a length in front of each packet.
    fileprivate var isLegacyPayload: Bool {
        let digits = self.prefix { $0.isNumber }
        return !digits.isEmpty && self[digits.endIndex...].hasPrefix(":0{")
    }
}
