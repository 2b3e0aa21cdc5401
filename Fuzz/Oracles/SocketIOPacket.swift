internal import Linkspan

@testable internal import LinkspanSocketIO

extension FuzzTarget {
    /// The text of a Socket.IO packet.
    ///
    /// What is accepted is well-formed, and survives being written and read again.
    public static let socketIOPacket = Self(name: "socketio-packet", maximumLength: 4096) { input throws(Violation) in
        var decoder = SocketIODecoder()
        let packet: SocketIOPacket?
        do throws(SocketIOProtocolError) {
            packet = try decoder.receive(text: input[...])
        } catch {
            try require(!decoder.isCollecting && decoder.unfinishedBytes == 0, "something is kept after \(error)")
            return
        }
        guard FuzzInput.isUTF8(input) else { return }
        if let packet {
            try require(!decoder.isCollecting, "a packet is complete and attachments are due all the same")
            try packet.checkAccepted()
            return
        }
        guard decoder.isCollecting else { return }
        // It wants attachments: it gets them.
        var whole: SocketIOPacket?
        for number in 1...10 where whole == nil {
            do throws(SocketIOProtocolError) {
                whole = try decoder.receive(binary: [UInt8(number)])
            } catch {
                throw Violation(message: "an attachment that was announced is refused: \(error)")
            }
        }
        guard let whole else { throw Violation(message: "more than ten attachments are awaited") }
        try whole.checkAccepted()
    }
}

/// A packet taken apart into what can be compared.
struct FlatPacket: Equatable {
    var kind: String
    var namespace: [UInt8]
    var event: String?
    var id: UInt64?
    var elements: [UInt8] = []
    var attachments: [[UInt8]] = []

    init(_ packet: SocketIOPacket) {
        switch packet {
        case .connect(let namespace, let payload):
            self.init("connect", namespace, payload)
        case .disconnect(let namespace):
            self.init("disconnect", namespace, .empty)
        case .event(let namespace, let message):
            self.init("event", namespace, message.payload)
            self.event = message.event
            self.id = message.replyID
        case .ack(let namespace, let id, let payload):
            self.init("ack", namespace, payload)
            self.id = id
        case .connectError(let namespace, let payload):
            self.init("connectError", namespace, payload)
        }
    }

    private init(_ kind: String, _ namespace: ArraySlice<UInt8>, _ payload: Payload) {
        self.kind = kind
        self.namespace = Array(namespace)
        self.elements = Array(payload.elements)
        self.attachments = payload.attachments.map { Array($0) }
    }

    /// The bytes that the packet holds.
    var byteCount: Int { self.attachments.reduce(self.elements.count) { $0 + $1.count } }
}

extension SocketIOPacket {
    /// The frames of the same packet as a client would write it: the text, then the attachments.
    ///
    /// Nil for what a client cannot write.
    var encoded: (text: [UInt8], attachments: [ArraySlice<UInt8>])? {
        var text: [UInt8] = []
        func namespace(_ written: ArraySlice<UInt8>) -> SocketIONamespace? {
            guard let name = String(validating: written, as: UTF8.self) else { return nil }
            return try? SocketIONamespace(name)
        }
        switch self {
        case .event(let written, let message):
            guard let namespace = namespace(written) else { return nil }
            SocketIOEncoder.append(
                event: message.event, message.payload, id: message.replyID, in: namespace, to: &text)
            return (text, message.payload.attachments)
        case .ack(let written, let id?, let payload):
            guard let namespace = namespace(written) else { return nil }
            SocketIOEncoder.append(ack: id, payload, in: namespace, to: &text)
            return (text, payload.attachments)
        case .connect(let written, let payload):
            guard let namespace = namespace(written) else { return nil }
            SocketIOEncoder.append(connect: payload.elements, in: namespace, to: &text)
            return (text, [])
        case .disconnect(let written):
            guard let namespace = namespace(written) else { return nil }
            SocketIOEncoder.append(disconnectIn: namespace, to: &text)
            return (text, [])
        case .ack, .connectError:
            return nil
        }
    }

    /// Checks what has to hold of a packet that was accepted.
    func checkAccepted() throws(Violation) {
        let flat = FlatPacket(self)
        guard let arguments = try? ReferenceJSON.elements(flat.elements) else {
            throw Violation(message: "a packet holds malformed JSON: \(FuzzInput.text(flat.elements))")
        }
        try require(!(flat.event.map(ReservedEvent.contains) ?? false), "a reserved name is accepted")
        try require(flat.attachments.count <= 10, "more than ten attachments are accepted")
        if !flat.attachments.isEmpty { try Self.checkPlaceholders(arguments, flat.attachments.count) }
        guard let (text, attachments) = self.encoded else { return }
        try require(text.first == UInt8(ascii: "4"), "a message is written as another packet")
        var decoder = SocketIODecoder()
        var again = try? decoder.receive(text: text.dropFirst())
        for attachment in attachments { again = try? decoder.receive(binary: attachment) }
        try require(
            again.map(FlatPacket.init) == flat, "\(flat) is written as \(FuzzInput.text(text)), which is something else"
        )
    }

    /// Every placeholder has its attachment, whichever of repeated keys a reader takes.
    private static func checkPlaceholders(_ arguments: [ReferenceJSON], _ count: Int) throws(Violation) {
        for members in arguments.flatMap(\.objects) {
            let isPlaceholder = members.contains { member in
                if case .bool(true) = member.value { member.key == "_placeholder" } else { false }
            }
            let indexes = members.filter { $0.key == "num" }.map(\.value)
            guard isPlaceholder else { continue }
            let areGood = indexes.allSatisfy { value in
                if case .number(let text) = value, let index = Int(text) { index >= 0 && index < count } else { false }
            }
            try require(!indexes.isEmpty && areGood, "a placeholder without its attachment is accepted")
        }
    }
}
