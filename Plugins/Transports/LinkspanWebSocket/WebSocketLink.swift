internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

/// A link over a WebSocket of its own; lives on its loop.
final class WebSocketLink: Link {
    private enum State: Equatable { case idle, opening, greeting, open, ended }

    /// The request, until the session has begun.
    private var request: Boxed<LinkRequest>?
    private let settings: Boxed<WebSocketSettings>
    private let loop: any NetworkLoop
    private let receiver: any LinkReceiver
    private let attachmentsTimeout: Duration
    private var state = State.idle
    private var info: LinkInfo
    /// Nil before it begins to open and after its end.
    @exclusivity(unchecked) private var owned: Owned<WebSocketChannel>?
    // Both call nobody but each other, and do not know the link, so that no access meets another.
    @exclusivity(unchecked) private var assembly: EnvelopeAssembly
    @exclusivity(unchecked) private var session: any MessageProtocol
    /// The beginning of a session that has a state; nil for one that is always ready, as most are.
    private var beginning: Moment?
    /// Whether the session takes nothing more for now.
    private var isFull = false
    /// The next deadline of the session.
    private var alarm: (due: Duration, work: any ScheduledWork)?
    /// Looks for attachments that are overdue; nil when none are awaited.
    private var watch: (any ScheduledWork)?
    /// The buffer in which messages are encoded.
    private var scratch: [UInt8] = []

    private static let keptScratch = 64 << 10
    /// The time for reading what has arrived when an attachment is overdue.
    private static let lastLook = Duration.milliseconds(10)

    /// Makes a link.
    ///
    /// - Parameters:
    ///   - request: where to, as whom, for how long.
    ///   - settings: the transport's.
    ///   - loop: the loop it lives on.
    ///   - receiver: hears what happens.
    ///   - attachmentsTimeout: how long an attachment may take while no part of it comes; the default is Socket.IO's.
    init(
        request: LinkRequest, settings: Boxed<WebSocketSettings>, loop: any NetworkLoop,
        receiver: any LinkReceiver, attachmentsTimeout: Duration = .seconds(30)
    ) {
        self.request = Boxed(request)
        self.settings = settings
        self.session = settings.value.configuration.protocol
        self.loop = loop
        self.receiver = receiver
        self.attachmentsTimeout = attachmentsTimeout
        self.assembly = EnvelopeAssembly(maximumBytes: settings.value.configuration.maximumMessageBytes)
        self.info = LinkInfo(facts: settings.value.facts)
    }

    private var configuration: WebSocketConfiguration { self.settings.value.configuration }

    func open() {
        // Otherwise it was ended before it could begin.
        guard self.state == .idle, let opening = self.request?.value else { return }
        let configuration = self.configuration
        let request = StreamRequest(
            opening, path: opening.url.path,
            headers: (self.session.headers + configuration.headers).map { ($0.name, $0.value.exposed) },
            tls: configuration.tls, proxy: configuration.proxy, socketPath: configuration.socketPath)
        self.state = .opening
        let channel = WebSocketChannel(
            request, subprotocols: self.session.subprotocols + configuration.subprotocols,
            compression: configuration.compression, terms: self.settings.value.terms, on: self.loop, handler: self)
        self.owned = Owned(channel)
    }

    func send(_ message: OutboundMessage) -> SendAcceptance {
        self.send(message.payload.attachments, isCompressible: message.isCompressible) {
            (session, buffer) throws(LinkspanError) in
            try session.encode(
                .event(name: message.event, payload: message.payload, id: message.requestID), to: &buffer)
        }
    }

    func deliver(_ message: OutboundMessage, key: String?, isRepeated: Bool) -> SendAcceptance {
        guard let id = message.requestID else { return self.send(message) }
        let delivery = EncodedDelivery(
            event: message.event, payload: message.payload, id: id, key: key, isRepeated: isRepeated)
        return self.send(message.payload.attachments, isCompressible: message.isCompressible) {
            (session, buffer) throws(LinkspanError) in try session.encode(delivery: delivery, to: &buffer)
        }
    }

    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance {
        self.send(payload.attachments) { (session, buffer) throws(LinkspanError) in
            try session.encode(.reply(id: id, payload: payload), to: &buffer)
        }
    }

    var followsListeners: Bool { self.session.subscribes }

    func setListening(_ isListening: Bool, to event: String) throws(LinkspanError) {
        guard self.state == .open else { return }
        self.sendFrames(isListening ? try self.session.subscribe(to: event) : self.session.unsubscribe(from: event))
    }

    func renewCredentials(_ credentials: Credentials) -> Bool {
        guard self.state == .open else { return false }
        do throws(LinkspanError) {
            guard let frames = try self.session.renew(credentials) else {
                return self.sendRenewal(credentials, by: self.configuration.renewalEvent)
            }
            self.sendFrames(frames)
            self.followSession()
        } catch {
            // Not before the caller has its answer.
            self.loop.executeLocally { self.fail(error, .policyViolation) }
        }
        return true
    }

    func close(code: UInt16?, reason: String) {
        let standard = self.configuration.closing
        let (code, reason) = code.map { ($0, reason) } ?? (standard.code, standard.reason)
        if self.state == .open { self.sendFrames(self.session.end()) }
        self.leave { $0.close(CloseCode(rawValue: code), reason: reason) }
    }

    func abort() { self.leave { $0.abort() } }

    /// Ends the channel, which then reports its end; without one the link reports it.
    private func leave(_ endChannel: (WebSocketChannel) -> Void) {
        switch self.state {
        case .open, .greeting, .opening: if let channel = self.owned?.object { endChannel(channel) }
        case .idle:
            self.state = .ended
            let receiver = self.receiver
            self.loop.executeLocally { receiver.receive([.closed(LinkspanError(WebSocketEnd.aborted))]) }
        case .ended: ()
        }
    }

    func saveData(_ savesData: Bool) { self.owned?.object.saveData(savesData) }

    func setReadingPaused(_ isPaused: Bool) { self.openChannel?.setReadingPaused(isPaused) }

    // An attempt that fails before the session has begun leaves the former session as it was.
    var resumption: Secret? { self.request?.value.resumption ?? self.session.resumption }

    var hasPendingBytes: Bool { self.openChannel.map { $0.pendingBytes > 0 } ?? false }

    var openingStage: String? {
        switch self.state {
        case .opening: self.owned?.object.openingStage.map { "\($0)" }
        case .greeting: "waiting for the server to accept the session of protocol '\(self.session.name)'"
        case .idle, .open, .ended: nil
        }
    }

    private var openChannel: WebSocketChannel? {
        self.state == .open ? self.owned?.object : nil
    }

    /// Sends what `encode` makes.
    // A closure that is called here costs nothing; an enumeration of all that can be sent would be moved.
    @inline(__always)
    private func send(
        _ attachments: [ArraySlice<UInt8>], isCompressible: Bool = true,
        _ encode: (inout any MessageProtocol, inout [UInt8]) throws(LinkspanError) -> EncodedKind
    ) -> SendAcceptance {
        guard self.state == .open, !self.isFull else { return .refused }
        switch self.owned {
        case .some(let owned):
            let acceptance = self.send(attachments, isCompressible: isCompressible, over: owned.object, encode)
            guard self.beginning != nil, self.followSession(), acceptance == .accepted else { return acceptance }
            return .acceptedAndFull
        case nil: return .refused
        }
    }

    @inline(__always)
    private func send(
        _ attachments: [ArraySlice<UInt8>], isCompressible: Bool, over channel: WebSocketChannel,
        _ encode: (inout any MessageProtocol, inout [UInt8]) throws(LinkspanError) -> EncodedKind
    ) -> SendAcceptance {
        // The memory of the last message, unless that was large.
        var encoded: [UInt8] = []
        swap(&encoded, &self.scratch)
        encoded.removeAll(keepingCapacity: true)
        defer { if encoded.capacity <= Self.keptScratch { swap(&encoded, &self.scratch) } }
        let kind: EncodedKind
        do throws(LinkspanError) {
            kind = try encode(&self.session, &encoded)
        } catch {
            return .rejected(error)
        }
        return encoded.withUnsafeBufferPointer { encoded in
            switch kind {
            case .text, .binary, .selfContained:
                return channel.send(
                    kind == .text ? .text : .binary, length: encoded.count,
                    attachments: kind == .selfContained ? [] : attachments, isCompressible: isCompressible
                ) { $0.append(contentsOf: encoded) }
            case .attachment:
                guard let blob = attachments.first else {
                    return .rejected(LinkspanError(.encodingFailed, "the protocol sends a blob, and there is none"))
                }
                return channel.send(.binary, length: blob.count, isCompressible: isCompressible) {
                    $0.append(contentsOf: blob)
                }
            case .nothing: return .accepted
            case .ping, .pong:
                guard encoded.count <= 125 else {
                    return .rejected(LinkspanError(.encodingFailed, "a ping or pong has at most 125 bytes"))
                }
                return channel.sendControl(kind == .ping ? .ping : .pong, payload: encoded)
            }
        }
    }
}

// MARK: - The session

extension WebSocketLink {
    /// Sends what the session has to say.
    private func sendFrames(_ frames: [WebSocketMessage]) {
        guard let channel = self.owned?.object else { return }
        for frame in frames {
            _ = channel.send(frame.opcode, length: frame.bytes.count) { $0.append(contentsOf: frame.bytes) }
        }
    }

    /// Sets the alarm for the session's deadline.
    ///
    /// - Returns: whether the session takes nothing more for now.
    @discardableResult
    private func followSession() -> Bool {
        guard let state = self.session.state else { return false }
        if state.deadline != self.alarm?.due { self.setAlarm(state.deadline) }
        if state.isFull { self.isFull = true }
        return state.isFull
    }

    private var isReady: Bool { self.session.state?.isReady ?? true }

    private func setAlarm(_ deadline: Duration?) {
        self.alarm?.work.cancel()
        self.alarm = nil
        guard let deadline, let beginning = self.beginning, self.state != .ended else { return }
        let rest = Moment.now.duration(to: beginning + deadline)
        let work = self.loop.scheduleLocally(after: max(.zero, rest)) {
            self.deadlinePassed(at: beginning.duration(to: .now))
        }
        self.alarm = (deadline, work)
    }

    private func deadlinePassed(at time: Duration) {
        self.alarm = nil
        do throws(LinkspanError) {
            let event = try self.assembly.receive(timed: try self.session.deadlinePassed(at: time))
            self.sendFrames(self.assembly.takeAnswers())
            if self.state == .greeting {
                try self.assembly.putOff(event)
            } else if let event {
                self.hand(event)
            }
            self.sessionHasMoved()
        } catch {
            self.fail(error, .policyViolation)
        }
    }

    /// Hands an event over, and those behind it.
    private func hand(_ event: LinkEvent) {
        var event: LinkEvent? = event
        self.receiver.receive { event.take() ?? self.nextPending() }
    }

    /// Follows the session after something that was not sent: it may be ready, or have room again.
    private func sessionHasMoved() {
        if self.state == .greeting, self.isReady { self.hand(self.becomeOpen()) }
        self.followEndpoints()
        guard !self.followSession(), self.isFull, self.state == .open else { return }
        self.isFull = false
        self.receiver.receive([.writable])
    }

    /// Hands on that the server has named other nodes of its cluster.
    private func followEndpoints() {
        guard self.state == .open, self.beginning != nil else { return }
        let endpoints = self.session.info.endpoints
        guard endpoints != self.info.endpoints else { return }
        self.info.endpoints = endpoints
        self.receiver.receive([.changed(self.info)])
    }

    private func becomeOpen() -> LinkEvent {
        self.state = .open
        let session = self.session.info
        self.info.facts.merge(session.facts) { $1 }
        self.info.sessionID = session.sessionID
        (self.info.isContinuous, self.info.endpoints) = (session.isContinuous, session.endpoints)
        return .opened(self.info)
    }
}

// MARK: - What the channel reports

extension WebSocketLink: WebSocketChannelHandler {
    func opened(_ head: ResponseHead, subprotocol: String?) {
        guard self.state == .opening, let channel = self.owned?.object, let request = self.request?.value else {
            return
        }
        self.request = nil
        let start = SessionStart(
            credentials: request.credentials, resumption: request.resumption, subprotocol: subprotocol,
            url: request.url, maximumMessageBytes: self.configuration.maximumMessageBytes)
        self.beginning = self.session.state == nil ? nil : .now
        do throws(LinkspanError) {
            self.sendFrames(try self.session.begin(start))
        } catch {
            self.end(error)
            return channel.abort()
        }
        self.state = .greeting
        self.info.facts["subprotocol"] = subprotocol
        let names = self.configuration.responseHeaders
        for name in names.contains("*") ? head.names : names {
            self.info.headers += head.values(name.lowercased()).map { Credentials.Field(name, Secret($0)) }
        }
        self.sessionHasMoved()
    }

    func answeredPing(after roundTrip: Duration) {
        guard self.state == .open else { return }
        self.info.roundTrip = roundTrip
        self.receiver.receive([.changed(self.info)])
    }

    func received(_ next: () -> WebSocketMessage?) {
        var failure: LinkspanError?
        self.receiver.receive {
            if let event = self.nextPending() { return event }
            while let message = next() {
                // Nothing counts that comes behind the end.
                guard failure == nil, self.state != .ended else { continue }
                do throws(LinkspanError) {
                    let event = try self.assembly.receive(consume message, by: &self.session)
                    if self.assembly.hasAnswers { self.sendFrames(self.assembly.takeAnswers()) }
                    if self.state == .open, let event { return event }
                    if self.state == .greeting, let opened = try self.greeted(event) { return opened }
                } catch {
                    failure = error
                }
            }
            return nil
        }
        self.watchAttachments()
        if let failure {
            return self.fail(failure, failure.code == .protocolViolation ? .invalidPayload : .normal)
        }
        self.sessionHasMoved()
    }

    /// The next event of a message that brought several, or of those that came before the session was ready.
    private func nextPending() -> LinkEvent? {
        self.state == .open ? self.assembly.popPending() : nil
    }

    /// Takes what a message has brought to a session that was not ready before.
    ///
    /// - Returns: that the link is open, if the session is ready now; the messages until then follow.
    /// - Throws: code `protocolViolation` when too many have come.
    private func greeted(_ event: LinkEvent?) throws(LinkspanError) -> LinkEvent? {
        try self.assembly.putOff(event)
        return self.isReady ? self.becomeOpen() : nil
    }

    func received(_ control: Opcode, payload: ArraySlice<UInt8>) {
        guard self.state == .open else { return }
        var payload: ArraySlice<UInt8>? = payload
        self.receiver.receive {
            if let event = self.nextPending() { return event }
            return payload.take().flatMap { self.assembly.receive(control, payload: $0, by: &self.session) }
        }
    }

    /// Makes sure that a message which lacks attachments is looked at again.
    private func watchAttachments(isLastLook: Bool = false) {
        guard self.watch == nil, self.assembly.isCollecting, self.state != .ended else { return }
        let count = self.assembly.attachmentCount
        let time = isLastLook ? Self.lastLook : self.attachmentsTimeout
        self.watch = self.loop.scheduleLocally(after: time) {
            self.watch = nil
            let isGettingOn = self.assembly.attachmentCount != count || self.owned?.object.isReceiving == true
            guard self.assembly.isCollecting, !isGettingOn else { return self.watchAttachments() }
            // What has arrived meanwhile is to be read before the server is blamed: perhaps this side was busy.
            guard isLastLook else { return self.watchAttachments(isLastLook: true) }
            self.fail(
                LinkspanError(.protocolViolation, "the attachments of a message did not arrive in time"),
                .policyViolation)
        }
    }

    private func fail(_ error: LinkspanError, _ code: CloseCode) {
        let channel = self.owned?.object
        self.end(error)
        channel?.close(code, reason: error.message)
    }

    func writable() {
        if self.state == .open, !self.isFull { self.receiver.receive([.writable]) }
    }

    func closed(_ end: WebSocketEnd) {
        var error = LinkspanError(end)
        // Only what the server says itself is for the app to interpret.
        if case .closed(let event) = end, event.violation == nil,
            let meaning = self.configuration.closeMeanings[event.code.rawValue]
        {
            error.code = meaning.code
        }
        self.end(error)
    }

    private func end(_ error: LinkspanError) {
        if self.state == .ended { return }
        self.state = .ended
        self.owned = nil
        self.watch?.cancel()
        self.watch = nil
        self.alarm?.work.cancel()
        self.alarm = nil
        self.receiver.receive([.closed(error)])
    }
}
