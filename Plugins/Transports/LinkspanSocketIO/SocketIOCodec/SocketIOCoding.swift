internal import Linkspan
internal import LinkspanNetwork

/// The coding of a session's packets: as the protocol says, or by a codec of the app's.
enum SocketIOCoding: Sendable {
    case json
    // Behind a reference, because few connections have one.
    indirect case codec(any SocketIOCodec)

    init(_ codec: (any SocketIOCodec)?) { self = codec.map { .codec($0) } ?? .json }

    /// Queues a CONNECT with its auth object, which is empty for none.
    ///
    /// - Throws: the codec's error when it cannot write one.
    func append(
        connect auth: ArraySlice<UInt8>, in namespace: SocketIONamespace, to output: inout SocketIOOutput
    ) throws(LinkspanError) {
        switch self {
        case .json:
            output.send { SocketIOEncoder.append(connect: auth, in: namespace, to: &$0) }
        case .codec(let codec):
            let packet = SocketIOCodecPacket(
                .connect, namespace: namespace.name, payload: Payload(trustedElements: auth))
            output.frames.append(try Self.messages(packet, by: codec))
        }
    }

    /// Queues a DISCONNECT, unless the codec cannot write one: the namespace is over in any case.
    func append(disconnectIn namespace: SocketIONamespace, to output: inout SocketIOOutput) {
        switch self {
        case .json:
            output.send { SocketIOEncoder.append(disconnectIn: namespace, to: &$0) }
        case .codec(let codec):
            let packet = SocketIOCodecPacket(.disconnect, namespace: namespace.name)
            if let messages = try? Self.messages(packet, by: codec) { output.frames.append(messages) }
        }
    }

    /// The Engine.IO packets of a Socket.IO packet that a codec writes.
    static func messages(
        _ packet: SocketIOCodecPacket, by codec: any SocketIOCodec
    ) throws(LinkspanError) -> [WebSocketMessage] {
        var messages: [WebSocketMessage] = []
        for message in try codec.encode(packet) {
            switch message {
            case .text(let text) where messages.isEmpty: messages.append(.text([UInt8(ascii: "4")] + text))
            case .text:
                throw LinkspanError(.encodingFailed, "the codec \(codec.name) put a text after another message")
            case .binary(let bytes): messages.append(.binary(bytes))
            }
        }
        guard !messages.isEmpty else {
            throw LinkspanError(.encodingFailed, "the codec \(codec.name) encoded a packet as nothing")
        }
        return messages
    }
}

extension SocketIOPacket {
    /// A packet that a codec of the app's has read.
    ///
    /// - Throws: ``SocketIOProtocolError`` for an event that the protocol keeps for itself.
    init(_ packet: SocketIOCodecPacket) throws(SocketIOProtocolError) {
        let namespace = packet.namespace == "/" ? [] : Array(packet.namespace.utf8)[...]
        switch packet.kind {
        case .connect: self = .connect(namespace: namespace, payload: packet.payload)
        case .disconnect: self = .disconnect(namespace: namespace)
        case .connectError: self = .connectError(namespace: namespace, payload: packet.payload)
        case .acknowledgement: self = .ack(namespace: namespace, id: packet.id, payload: packet.payload)
        case .event:
            guard !ReservedEvent.contains(packet.event) else {
                throw SocketIOProtocolError(.reservedEvent, "an event has a reserved name")
            }
            let message = InboundMessage(event: packet.event, payload: packet.payload, replyID: packet.id)
            self = .event(namespace: namespace, message: message)
        }
    }
}
