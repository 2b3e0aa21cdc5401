internal import Linkspan
internal import LinkspanRuntime

/// The client's side of one namespace: from CONNECT to its end, as often as it is joined.
///
/// The owner gets `opened` at most once for each join and before any message, and `closed` exactly once and last.
struct NamespaceSession: Sendable {
    private enum State: Sendable {
        /// Joined, but the engine is not open: CONNECT is still to be sent.
        ///
        /// The greeting is the payload of the CONNECT; in version 3 a query behind the name, which `/` has none of.
        case waiting(greeting: ArraySlice<UInt8>, timeout: Duration)
        /// CONNECT was sent.
        case connecting(deadline: Moment, early: EarlyEvents)
        /// The server has let us in.
        case connected
        /// The owner has gone before CONNECT was answered. The answer, should it come, has to be undone.
        case abandoned
        /// Over, or never begun.
        case closed
    }

    /// The name.
    let namespace: SocketIONamespace
    private let index: Int
    private let version: EngineIOVersion
    private let coding: SocketIOCoding
    private let limits: SocketIOLimits
    private var state: State = .closed {
        didSet { self.noteState() }
    }
    /// The values for the next join, on another engine, to miss nothing; nil when the server offers no recovery.
    private(set) var recovery: SocketIORecovery? {
        get { self.boxedRecovery?.value }
        set { self.boxedRecovery = newValue.map { Boxed($0) } }
    }
    /// The same behind a reference, because each message asks whether there is one.
    private var boxedRecovery: Boxed<SocketIORecovery>?
    /// Whether events and replies may be sent; looked at for each message.
    private(set) var isConnected = false
    /// Whether the owner still waits for the closing event.
    private(set) var isActive = false
    /// The instant at which ``timer(now:output:)`` has to be called next; nil when never.
    private(set) var nextDeadline: Moment?
    /// Whether no link uses the index: before the first join, and after ``release()``.
    private var isReleased = true
    /// The number with which the acknowledgements of the present or next join begin; see ``AckNumbers``.
    private(set) var firstAck: UInt64 = 0
    /// The Engine.IO session's name, which servers of version 3 make the namespace's from.
    private var engineID = ""

    /// Makes a session that is not joined.
    ///
    /// - Parameters:
    ///   - namespace: its name.
    ///   - index: under which its events are delivered.
    ///   - version: the version of Engine.IO below.
    ///   - coding: how packets are written.
    ///   - limits: how much is held.
    init(
        _ namespace: SocketIONamespace, index: Int, version: EngineIOVersion = .v4, coding: SocketIOCoding = .json,
        limits: SocketIOLimits
    ) {
        self.coding = coding
        self.namespace = namespace
        self.index = index
        self.version = version
        self.limits = limits
    }

    /// Whether an answer to CONNECT is outstanding that nobody wants any more.
    var isAbandoned: Bool {
        if case .abandoned = self.state { true } else { false }
    }

    /// Whether another namespace may take the index: no link uses it, and no answer from the server is outstanding.
    var isFree: Bool {
        if case .closed = self.state { self.isReleased } else { false }
    }

    /// Notes that the owner has been told of the end.
    mutating func release() { if !self.isActive { self.isReleased = true } }

    /// Leaves numbers of acknowledgements to former joins, whose answers may still come.
    mutating func skipAcks(below number: UInt64) { self.firstAck = max(self.firstAck, number) }

    /// Notes what is asked for after each read, which computed from the state would copy the session each time.
    private mutating func noteState() {
        (self.isConnected, self.isActive, self.nextDeadline) =
            switch self.state {
            case .waiting: (false, true, nil)
            case .connecting(let deadline, _): (false, true, deadline)
            case .connected: (true, true, nil)
            case .abandoned, .closed: (false, false, nil)
            }
    }

    /// Notes that the owner wants in.
    ///
    /// ``sendConnect(engineID:now:output:)`` follows as soon as the engine is open.
    ///
    /// - Throws: ``LinkspanError`` with code `invalidConfiguration` when the version cannot carry the auth object.
    mutating func join(
        auth: ArraySlice<UInt8>, recovery: SocketIORecovery?, timeout: Duration
    ) throws(LinkspanError) {
        switch self.version {
        case .v4:
            self.recovery = recovery
            self.state = .waiting(greeting: recovery?.merged(into: auth) ?? auth, timeout: timeout)
        case .v3:
            let query = try LegacyAuth.query(of: auth, in: self.namespace)
            self.state = .waiting(greeting: Array(query.utf8)[...], timeout: timeout)
        }
        self.isReleased = false
    }

    /// Sends the CONNECT of a join.
    ///
    /// - Parameters:
    ///   - engineID: the name of the Engine.IO session.
    ///   - now: the present.
    ///   - output: where the CONNECT goes.
    mutating func sendConnect(engineID: String, now: Moment, output: inout SocketIOOutput) {
        guard case .waiting(let greeting, let timeout) = self.state else { return }
        self.engineID = engineID
        switch self.version {
        case .v4:
            do throws(LinkspanError) {
                try self.coding.append(connect: greeting, in: self.namespace, to: &output)
            } catch {
                return self.end(error, output: &output)
            }
        case .v3 where self.namespace != .main:
            output.send { SocketIOEncoder.append(connectWith: greeting, in: self.namespace, to: &$0) }
        case .v3: ()  // The server lets everyone in here.
        }
        self.state = .connecting(deadline: now.advanced(by: timeout), early: EarlyEvents())
    }

    /// Takes an event.
    mutating func receive(
        _ message: consuming InboundMessage, now: Moment, output: inout SocketIOOutput
    ) {
        if self.isConnected {
            if self.boxedRecovery != nil { self.noteOffset(message, now: now) }
            output.deliver(.message(message), to: self.index)
        } else {
            // Dropped unless it may still have to be delivered: what is not joined is ignored (S27).
            self.hold(message, output: &output)
        }
    }

    /// Takes an acknowledgement.
    ///
    /// One that comes before CONNECT is answered can answer nothing, and one of a former join answers no request of this.
    mutating func receive(ack id: UInt64?, _ payload: Payload, output: inout SocketIOOutput) {
        guard case .connected = self.state, let id, id >= self.firstAck else { return }
        output.deliver(.reply(id: id - self.firstAck, payload: payload), to: self.index)
    }

    /// Takes the answer to CONNECT.
    mutating func receiveConnect(_ payload: Payload, now: Moment, output: inout SocketIOOutput) {
        switch self.state {
        case .connecting(_, let early) where self.version == .v3:
            let prefix = self.namespace == .main ? "" : "\(self.namespace.name)#"
            self.open(sid: prefix + self.engineID, pid: nil, early: early, now: now, output: &output)
        case .connecting(_, let early):
            guard let answer = payload[0], let sid = answer["sid"]?.string else {
                let error = LinkspanError(
                    .unsupportedVersion,
                    "the server speaks Socket.IO 2.x, as its answer to CONNECT has no sid: \(PollingAnswer.advice)")
                return self.end(error, output: &output)
            }
            guard Self.isSID(sid) else {
                let violation = SocketIOProtocolError(.badPayload, "the answer to CONNECT has an unacceptable sid")
                return self.end(LinkspanError(violation), output: &output)
            }
            self.open(sid: sid, pid: answer["pid"]?.string, early: early, now: now, output: &output)
        case .abandoned:
            // Nobody is there any more, and the server should know.
            self.state = .closed
            self.coding.append(disconnectIn: self.namespace, to: &output)
        case .connected, .waiting, .closed:
            ()  // A second answer says nothing new.
        }
    }

    /// Takes a refusal of CONNECT; in version 3 also an error in a namespace that is open.
    mutating func receiveConnectError(_ payload: Payload, output: inout SocketIOOutput) {
        switch self.state {
        case .connecting:
            self.end(self.refusal(payload), output: &output)
        case .connected where self.version == .v3:
            // There the type is ERROR: a middleware that rejects an event sends it, and the namespace stays. The reference
            // emits the data as `error`, a name that servers of 2.x reserve, so that no event of theirs has it.
            output.deliver(.message(InboundMessage(event: "error", payload: payload)), to: self.index)
        case .connected:
            // The reference stays connected on the wire but inactive. A namespace that is half open helps nobody: both
            // sides end it.
            self.coding.append(disconnectIn: self.namespace, to: &output)
            self.end(self.refusal(payload), output: &output)
        case .abandoned:
            self.state = .closed
        case .waiting, .closed:
            ()
        }
    }

    /// Takes a DISCONNECT.
    mutating func receiveDisconnect(output: inout SocketIOOutput) {
        switch self.state {
        case .connecting, .connected:
            self.recovery = nil  // Recovery is lost when a side leaves on purpose (S45).
            self.end(
                LinkspanError(.closedByServer, "the server disconnected the namespace \(self.namespace.name)"),
                output: &output)
        case .abandoned:
            self.state = .closed
        case .waiting, .closed:
            ()
        }
    }

    /// The owner goes: says goodbye where the server knows us.
    ///
    /// A namespace that is given up, mostly because the path is lost, may still be resumed: the DISCONNECT rarely arrives
    /// then; a server that did get it answers the next CONNECT with a new session, and so does one to which that comes
    /// first.
    mutating func leave(_ reason: LinkspanError, politely: Bool, isReceiving: Bool, output: inout SocketIOOutput) {
        if politely { self.recovery = nil } else { self.giveUpReplay(isReceiving: isReceiving) }
        switch self.state {
        case .connected:
            self.coding.append(disconnectIn: self.namespace, to: &output)
            self.end(reason, output: &output)
        case .connecting:
            // A DISCONNECT before the answer would make the official server close the whole connection.
            self.end(reason, output: &output)
            self.state = .abandoned
        case .waiting:
            self.end(reason, output: &output)
        case .abandoned, .closed:
            ()
        }
    }

    /// The owner gives the namespace up: a replay that has not come to its end by then would not do so the next time.
    ///
    /// - Parameter isReceiving: whether a message has come in part, which may be the first of the replay.
    mutating func giveUpReplay(isReceiving: Bool) {
        if case .connecting(_, let early) = self.state, isReceiving || !early.messages.isEmpty { self.recovery = nil }
    }

    /// Looks at the clock.
    mutating func timer(now: Moment, isReceiving: Bool, output: inout SocketIOOutput) {
        guard case .connecting(let deadline, _) = self.state, now >= deadline else { return }
        self.giveUpReplay(isReceiving: isReceiving)
        self.end(LinkspanError(.timedOut, "the server did not answer CONNECT in time"), output: &output)
        self.state = .abandoned
    }

    /// The engine has ended.
    mutating func streamClosed(_ error: LinkspanError, output: inout SocketIOOutput) {
        guard self.isActive else {
            self.state = .closed
            return
        }
        self.end(error, output: &output)
    }
}

extension NamespaceSession {
    /// Events from before the answer to CONNECT (S26).
    private struct EarlyEvents: Sendable {
        var messages: [InboundMessage] = []
        var byteCount = 0
    }

    private mutating func open(
        sid: String, pid: String?, early: EarlyEvents, now: Moment, output: inout SocketIOOutput
    ) {
        let pid = pid.flatMap { $0.utf8.count <= SocketIORecovery.maximumLength ? $0 : nil }
        let former = self.recovery
        let isContinuous = pid != nil && former?.offset.latest != nil && pid == former?.pid.exposed
        // An offset is valid only within the session that it belongs to.
        self.recovery = pid.map { pid in
            SocketIORecovery(
                pid: Secret(pid), offset: isContinuous ? former?.offset ?? RecoveryOffset() : RecoveryOffset())
        }
        self.recovery?.offset.resumed(now: now)
        self.state = .connected
        let facts = [
            "protocol": self.version == .v4 ? "Socket.IO v5" : "Socket.IO v4", "namespace": self.namespace.name,
        ]
        let info = LinkInfo(sessionID: sid, facts: facts, isContinuous: isContinuous)
        output.deliver(.opened(info), to: self.index)
        for message in early.messages { self.receive(message, now: now, output: &output) }
    }

    private mutating func hold(_ message: InboundMessage, output: inout SocketIOOutput) {
        guard case .connecting(let deadline, var early) = self.state else { return }
        self.state = .closed  // So that the events have one owner, and adding one does not copy them.
        early.byteCount += message.payload.byteCount + message.event.utf8.count
        early.messages.append(
            InboundMessage(event: message.event, payload: message.payload.detached(), replyID: message.replyID))
        self.state = .connecting(deadline: deadline, early: early)
        let isTooMuch =
            early.messages.count > self.limits.maximumEarlyEvents || early.byteCount > self.limits.maximumEarlyBytes
        guard isTooMuch else { return }
        let violation = SocketIOProtocolError(
            .tooManyEarlyEvents,
            "before the answer to CONNECT came more than the \(self.limits.maximumEarlyEvents) events, or the "
                + "\(self.limits.maximumEarlyBytes) bytes of them, that are accepted here")
        self.end(LinkspanError(violation), output: &output)
        self.state = .abandoned
    }

    private mutating func end(_ error: LinkspanError, output: inout SocketIOOutput) {
        // Another replay would be too long again, or break the same rule, be it with its first message.
        if error.code != .connectionLost { self.giveUpReplay(isReceiving: error.code == .protocolViolation) }
        self.state = .closed
        output.deliver(.closed(error), to: self.index)
    }

    /// Remembers where the server's replay would go on (S41): only after events that it would repeat.
    private mutating func noteOffset(_ message: InboundMessage, now: Moment) {
        guard message.replyID == nil, let offset = RecoveryOffset.candidate(in: message.payload.elements) else {
            return
        }
        self.boxedRecovery?.value.offset.note(offset, now: now)
    }

    /// A refusal is about who we are, unless it is one of the two sentences for a namespace that does not exist.
    private func refusal(_ payload: Payload) -> LinkspanError {
        guard self.version == .v3 || Self.isRefusal(payload) else {
            let violation = SocketIOProtocolError(
                .badPayload, "the refusal of CONNECT is neither an object, a string nor an array")
            return LinkspanError(violation)
        }
        let text = payload[0]?["message"]?.string ?? payload[0]?.string ?? payload[0]?[0]?.string
        let details = payload.isEmpty ? nil : payload
        if text == "Invalid namespace" || text == "Unable to connect" {
            return LinkspanError(.refused, "the server has no namespace \(self.namespace.name)", details: details)
        }
        return LinkspanError(
            .credentialsRefused,
            "the server refuses the connection to the namespace \(self.namespace.name)\(Self.reason(text))",
            details: details)
    }

    /// Whether version 4 allows this payload in CONNECT_ERROR: an object, a string or none; python-socketio 4 sends an array
    /// (S05).
    private static func isRefusal(_ payload: Payload) -> Bool {
        guard let first = payload[0]?.text.first else { return true }
        return [UInt8(ascii: "{"), UInt8(ascii: "\""), UInt8(ascii: "[")].contains(first)
    }

    /// The server's own words as the end of a sentence.
    private static func reason(_ text: String?) -> String {
        guard let text, !text.isEmpty else { return "" }
        return ": \(ForeignText.line(text))"
    }

    /// Servers may make ids of their own, so only what could spoil a log is refused.
    private static func isSID(_ text: String) -> Bool {
        (1...512).contains(text.utf8.count) && ForeignText.line(text, limit: 512) == text
    }
}
