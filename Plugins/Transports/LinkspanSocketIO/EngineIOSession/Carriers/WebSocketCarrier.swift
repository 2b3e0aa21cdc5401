internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

/// Carries packets over a WebSocket, one in each frame.
final class WebSocketCarrier: EngineCarrier {
    /// Opens the WebSocket; nil once it has.
    private var makeChannel: ((WebSocketCarrier) -> WebSocketChannel)?
    private let version: EngineIOVersion
    private let binaryType: UInt8?
    private let handler: any EngineCarrierHandler
    /// Whether the server has sent a binary frame without the type that it must begin with.
    private var isTypeMissing = false
    /// The calls for the answer to the latest ping, and those for the next one.
    private var pinged: (latest: [() -> Void], next: [() -> Void]) = ([], [])
    @exclusivity(unchecked) private var owned: Owned<WebSocketChannel>?

    /// Makes a carrier for a new session, or for one that it may take over, with the session's cookies.
    init(
        _ key: EngineKey, sid: String? = nil, cookie: String? = nil, deadline: Duration,
        loop: any NetworkLoop, handler: any EngineCarrierHandler
    ) {
        let stream = key.webSocket(sid: sid, cookie: cookie, deadline: deadline)
        let (compression, terms) = (key.configuration.compression, key.terms)
        self.makeChannel = {
            WebSocketChannel(stream, compression: compression, terms: terms, on: loop, handler: $0)
        }
        self.version = key.version
        self.binaryType = key.version.binaryType
        self.handler = handler
    }

    func open() {
        if let makeChannel = self.makeChannel.take() { self.owned = Owned(makeChannel(self)) }
    }

    private var channel: WebSocketChannel? { self.owned?.object }

    var name: String { "websocket" }

    var lastHeard: Moment? { self.channel?.lastHeard }

    var isReceiving: Bool { self.channel?.isReceiving ?? false }

    var hasPendingBytes: Bool { self.channel.map { $0.pendingBytes > 0 } ?? false }

    var openingStage: OpeningStage? { self.channel?.openingStage }

    func length(ofAttachment count: Int) -> Int { self.binaryType == nil ? count : count + 1 }

    func send(
        _ opcode: Opcode, length: Int, attachments: [ArraySlice<UInt8>], isCompressible: Bool,
        write: (inout ByteWriter) -> Void
    ) -> SendAcceptance {
        switch self.owned {
        case .some(let owned):
            // Handed on as they are, mostly: a choice between two arrays would take a reference to one.
            guard let type = self.binaryType, opcode == .binary || !attachments.isEmpty else {
                return owned.object.send(
                    opcode, length: length, attachments: attachments, isCompressible: isCompressible,
                    write: write)
            }
            let own = opcode == .binary ? [type] : []
            return owned.object.send(
                opcode, length: own.count + length, attachments: attachments.map { [type] + $0 },
                isCompressible: isCompressible
            ) { writer in
                writer.append(contentsOf: own)
                write(&writer)
            }
        case nil: return .refused
        }
    }

    /// Sends frames in this order; the caller ensures that no other frame comes between.
    func takeOver(_ frames: [PollingSession.Packet]) {
        for packet in frames { _ = self.send([packet.message], isCompressible: packet.isCompressible) }
    }

    func sessionOpened(_ handshake: EngineIOHandshake) {}

    func close() { self.channel?.close() }

    func abort() { self.channel?.abort() }

    func ping(_ onAnswer: @escaping () -> Void) -> Bool {
        self.pinged.next.append(onAnswer)
        if self.pinged.latest.isEmpty { self.pingNext() }
        return true
    }

    private func pingNext() {
        self.pinged = (self.pinged.next, [])
        if !self.pinged.latest.isEmpty { _ = self.channel?.ping() }
    }

    func setReadingPaused(_ isPaused: Bool) { self.channel?.setReadingPaused(isPaused) }
}

extension WebSocketCarrier: WebSocketChannelHandler {
    func opened(_ head: ResponseHead, subprotocol: String?) { self.handler.opened() }

    func received(_ next: () -> WebSocketMessage?) {
        guard let type = self.binaryType else { return self.handler.received(next) }
        self.handler.received {
            while let message = next() {
                // Nothing counts that comes behind a broken rule.
                guard !self.isTypeMissing else { continue }
                guard case .binary(let bytes) = message else { return message }
                if bytes.first == type { return .binary(bytes.dropFirst()) }
                // Nothing else is sent in binary.
                self.isTypeMissing = true
            }
            return nil
        }
        if self.isTypeMissing { self.abort() }
    }

    func answeredPing(after roundTrip: Duration) {
        let answered = self.pinged.latest
        self.pingNext()
        for onAnswer in answered { onAnswer() }
    }

    func writable() { self.handler.writable() }

    func closed(_ end: WebSocketEnd) {
        self.owned = nil
        guard self.isTypeMissing else { return self.handler.closed(Self.error(end, version: self.version)) }
        let violation = SocketIOProtocolError(.unknownType, "a binary frame is not of the type for messages")
        self.handler.closed(LinkspanError(violation))
    }

    /// The advice about WebSockets that do not reach the server as such.
    static let advice = "where a proxy drops the headers of the upgrade, carriers `fallback` polls"

    /// The error for the end of a channel of this version.
    ///
    /// The reference server agrees to the upgrade before it begins the session, and answers 400 when it does not begin one:
    /// for version 3, if it does not allow that, and for both versions when it fails itself, which may pass. Its text says
    /// which; where the text did not come with the status as a whole, version 3 is the likelier reason.
    static func error(_ end: WebSocketEnd, version: EngineIOVersion) -> LinkspanError {
        guard case .stream(let error) = end, error.code == .refusedAfterUpgrade, error.status == 400 else {
            var error = LinkspanError(end)
            // The answers to a request that has become an ordinary one.
            if case .stream(let refusal) = end, refusal.code == .refused, [200, 400, 426].contains(refusal.status) {
                error.message += ": \(Self.advice)"
            }
            return error
        }
        let (text, complaint) = (error.lateText ?? "", "Unsupported protocol version")
        let isAboutVersion = text.contains(complaint) || version == .v3 && complaint.hasPrefix(text)
        guard isAboutVersion else { return LinkspanError(.serverUnavailable, error.message, cause: error) }
        return LinkspanError(
            .unsupportedVersion, "the server does not speak this version of Engine.IO: \(PollingAnswer.advice)",
            cause: error)
    }
}
