internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanSocketIO

/// The server's end of Socket.IO v5 over one engine: which namespaces are joined, and what their packets mean.
struct SocketIOServerSession: Sendable {
    enum Event: Sendable {
        /// A client wants into a namespace that there is.
        case connect(namespace: String, auth: Payload?)
        case say(HubRelay.Saying, namespace: String)
        case left(namespace: String)
        /// Say this to the client.
        case answer([WebSocketMessage])
        /// The client broke the protocol: end the engine.
        case violation
    }

    private let known: Set<String>
    private var decoder: SocketIODecoder
    private var members: [String: (namespace: SocketIONamespace, isConnected: Bool)] = [:]
    /// The namespaces that were joined and are no more.
    private var left: Set<String> = []

    /// Makes a session for a server with these namespaces.
    init(known: Set<String>, limits: SocketIOLimits) {
        self.known = known
        self.decoder = SocketIODecoder(limits: limits)
    }

    /// Whether some namespace is joined, or is about to be.
    var isInUse: Bool { !self.members.isEmpty }

    /// Takes a message; nil when it means nothing, or nothing yet.
    mutating func receive(_ message: WebSocketMessage) -> Event? {
        do throws(SocketIOProtocolError) {
            let packet =
                switch message {
                case .text(let text): try self.decoder.receive(text: text)
                case .binary(let data): try self.decoder.receive(binary: data)
                }
            return packet.flatMap { self.handle($0) }
        } catch {
            return .violation
        }
    }

    private mutating func handle(_ packet: SocketIOPacket) -> Event? {
        switch packet {
        case .connect(let written, let payload): return self.connect(Self.name(written), payload)
        case .disconnect(let written):
            let name = Self.name(written)
            guard self.members[name] != nil else { return self.stray(name) }
            self.leave(name)
            return .left(namespace: name)
        case .event(let written, let message):
            let name = Self.name(written)
            return self.isConnected(name) ? .say(.message(message), namespace: name) : self.stray(name)
        case .ack(let written, let id, let payload):
            let name = Self.name(written)
            guard self.isConnected(name) else { return self.stray(name) }
            return id.map { .say(.reply(id: $0, payload), namespace: name) }
        case .connectError: return .violation
        }
    }

    private mutating func connect(_ name: String, _ payload: Payload) -> Event {
        guard self.known.contains(name), let namespace = try? SocketIONamespace(name) else {
            return .answer([Self.connectError(named: name, message: "Invalid namespace")])
        }
        guard self.members[name] == nil else { return .violation }
        guard payload.byteCount <= CredentialLimit.bytes else {
            return .answer([Self.connectError(named: name, message: CredentialLimit.reason)])
        }
        self.members[name] = (namespace, false)
        return .connect(namespace: name, auth: payload.isEmpty ? nil : payload)
    }

    /// A packet for a namespace that is not joined breaks the protocol, as in the reference's `Client.ondecoded`; one that
    /// crossed the end of its namespace does not.
    private func stray(_ name: String) -> Event? { self.left.contains(name) ? nil : .violation }

    private mutating func leave(_ name: String) {
        self.members[name] = nil
        self.left.insert(name)
    }

    private func isConnected(_ name: String) -> Bool { self.members[name]?.isConnected == true }

    private static func name(_ written: ArraySlice<UInt8>) -> String {
        written.isEmpty ? "/" : String(decoding: written, as: UTF8.self)
    }
}

// MARK: - What the hub says

extension SocketIOServerSession {
    /// The client is in; returns what to send.
    mutating func accepted(_ name: String, sessionID: String) -> [WebSocketMessage] {
        self.members[name]?.isConnected = true
        return self.frames(in: name) {
            SocketIOEncoder.append(connect: Array(#"{"sid":"\#(sessionID)"}"#.utf8)[...], in: $0, to: &$1)
        }
    }

    /// The client stays out, or has to leave; returns what to send.
    mutating func ended(_ name: String, _ error: LinkspanError) -> [WebSocketMessage] {
        guard self.members[name] != nil else { return [] }
        defer { self.leave(name) }
        guard self.isConnected(name), error.code != .credentialsRefused else {
            return [Self.connectError(named: name, message: error.message, data: error.refusalData)]
        }
        return self.frames(in: name) { SocketIOEncoder.append(disconnectIn: $0, to: &$1) }
    }

    func message(_ name: String, _ message: InboundMessage) -> [WebSocketMessage] {
        self.frames(in: name, message.payload) {
            SocketIOEncoder.append(event: message.event, message.payload, id: message.replyID, in: $0, to: &$1)
        }
    }

    func reply(_ name: String, _ id: UInt64, _ payload: Payload) -> [WebSocketMessage] {
        self.frames(in: name, payload) { SocketIOEncoder.append(ack: id, payload, in: $0, to: &$1) }
    }

    /// A packet and the attachments of its payload; nothing when the client is not in the namespace.
    private func frames(
        in name: String, _ payload: Payload = .empty, _ encode: (SocketIONamespace, inout [UInt8]) -> Void
    ) -> [WebSocketMessage] {
        guard let member = self.members[name], member.isConnected else { return [] }
        var frame: [UInt8] = []
        encode(member.namespace, &frame)
        return [.text(frame[...])] + payload.attachments.map { .binary($0) }
    }

    private static func connectError(
        named name: String, message: String, data: ArraySlice<UInt8>? = nil
    ) -> WebSocketMessage {
        var frame = Array("44".utf8)
        if name != "/" { frame.append(contentsOf: "\(name),".utf8) }
        frame.append(contentsOf: #"{"message":"#.utf8)
        frame.append(contentsOf: (try? Payload(message))?.elements ?? Array("\"\"".utf8)[...])
        if let data {
            frame.append(contentsOf: #","data":"#.utf8)
            frame.append(contentsOf: data)
        }
        frame.append(UInt8(ascii: "}"))
        return .text(frame[...])
    }
}

extension LinkspanError {
    /// The part of a refusal for programs: the first of the error's details, or its code.
    var refusalData: ArraySlice<UInt8>? {
        if let details = self.details?[0] { return details.text }
        return (try? Payload(["code": self.code.rawValue]))?.elements
    }
}
