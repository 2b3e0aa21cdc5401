package import Linkspan

/// Writes Socket.IO v5 packets as whole Engine.IO text frames, `4` included, straight behind what a buffer holds.
///
/// Attachments travel after the text as binary frames, one each, with nothing between (S03): the caller sends
/// `payload.attachments` in order. Payloads must be well-formed, which those of the SDK are.
package enum SocketIOEncoder {
    /// The head of events of one name: most events have the name of the one before.
    ///
    /// Not copyable, so that it is looked at where it is.
    struct EventHead: ~Copyable {
        private var event: String?
        private var attachments = 0
        /// The frame up to the arguments, of an event that wants no reply.
        private var bytes: [UInt8] = []
        /// The position for the acknowledgement's id.
        private var idPosition = 0

        init() {}

        init(_ event: String, attachments: Int, in namespace: SocketIONamespace) {
            self.event = event
            self.attachments = attachments
            SocketIOEncoder.appendHead(.event, attachments: attachments, in: namespace, to: &self.bytes)
            self.idPosition = self.bytes.count
            self.bytes.append(UInt8(ascii: "["))
            SocketIOEncoder.append(string: event, to: &self.bytes)
        }

        func isOf(_ event: String, attachments: Int) -> Bool { self.attachments == attachments && self.event == event }

        /// The bytes that ``append(_:id:to:)`` appends.
        func length(_ elements: ArraySlice<UInt8>, id: UInt64?) -> Int {
            self.bytes.count + (id?.decimalDigits ?? 0) + SocketIOEncoder.length(arguments: elements)
        }

        /// Appends an event with these arguments.
        func append(_ elements: ArraySlice<UInt8>, id: UInt64?, to output: inout [UInt8]) {
            self.bytes.withUnsafeBufferPointer { bytes in
                guard let id else { return output.append(contentsOf: bytes) }
                output.append(contentsOf: bytes[..<self.idPosition])
                SocketIOEncoder.append(id, to: &output)
                output.append(contentsOf: bytes[self.idPosition...])
            }
            SocketIOEncoder.append(arguments: elements, to: &output)
        }
    }

    /// Appends an event.
    ///
    /// - Parameters:
    ///   - name: the event's name.
    ///   - payload: its arguments.
    ///   - id: set when a reply is wanted.
    ///   - namespace: where it happens.
    ///   - output: where the frame goes.
    package static func append(
        event name: String, _ payload: Payload, id: UInt64?, in namespace: SocketIONamespace, to output: inout [UInt8]
    ) {
        EventHead(name, attachments: payload.attachments.count, in: namespace).append(
            payload.elements, id: id, to: &output)
    }

    /// Appends an acknowledgement.
    package static func append(
        ack id: UInt64, _ payload: Payload, in namespace: SocketIONamespace, to output: inout [UInt8]
    ) {
        Self.appendHead(.acknowledgement, attachments: payload.attachments.count, in: namespace, to: &output)
        Self.append(id, to: &output)
        output.append(UInt8(ascii: "["))
        payload.elements.withUnsafeBufferPointer { output.append(contentsOf: $0) }
        output.append(UInt8(ascii: "]"))
    }

    /// The bytes of an acknowledgement's text.
    static func length(ack id: UInt64, _ payload: Payload, in namespace: SocketIONamespace) -> Int {
        let attachments = payload.attachments.count
        let digits = id.decimalDigits + (attachments == 0 ? 0 : UInt64(attachments).decimalDigits + 1)
        return 4 + digits + namespace.prefix.count + payload.elements.count
    }

    /// Appends a CONNECT with its auth object, which is empty for none.
    package static func append(
        connect auth: ArraySlice<UInt8>, in namespace: SocketIONamespace, to output: inout [UInt8]
    ) {
        Self.appendHead(.connect, attachments: 0, in: namespace, to: &output)
        output.append(contentsOf: auth)
    }

    /// Appends a CONNECT of protocol v4, with a query behind the name.
    static func append(connectWith query: ArraySlice<UInt8>, in namespace: SocketIONamespace, to output: inout [UInt8])
    {
        Self.appendHead(.connect, attachments: 0, in: .main, to: &output)
        output.append(contentsOf: namespace.name.utf8)
        if !query.isEmpty { output += [UInt8(ascii: "?")] + query }
        output.append(UInt8(ascii: ","))
    }

    /// Appends a DISCONNECT.
    package static func append(disconnectIn namespace: SocketIONamespace, to output: inout [UInt8]) {
        Self.appendHead(.disconnect, attachments: 0, in: namespace, to: &output)
    }

    /// The reason why an event may not be sent, or nil when it may: the server would close the connection over it.
    static func problem(event name: String, _ payload: Payload, limits: SocketIOLimits) -> LinkspanError? {
        if ReservedEvent.contains(name) {
            return LinkspanError(.encodingFailed, "the event name \(name) is reserved")
        }
        return Self.problem(payload, limits: limits)
    }

    /// The reason why a payload may not be sent, or nil when it may.
    static func problem(_ payload: Payload, limits: SocketIOLimits) -> LinkspanError? {
        guard payload.attachments.count > limits.maximumAttachments else { return nil }
        return LinkspanError(
            .messageTooLarge, "a message has more than \(limits.maximumAttachments) attachments")
    }
}

extension SocketIOEncoder {
    private static func appendHead(
        _ type: SocketIOCodecPacket.Kind, attachments: Int, in namespace: SocketIONamespace, to output: inout [UInt8]
    ) {
        output.append(UInt8(ascii: "4"))
        if attachments == 0 {
            output.append(UInt8(ascii: "0") &+ type.rawValue)
        } else {
            // BINARY_EVENT and BINARY_ACK are three above their plain forms.
            output.append(UInt8(ascii: "0") &+ type.rawValue &+ 3)
            Self.append(UInt64(attachments), to: &output)
            output.append(UInt8(ascii: "-"))
        }
        if !namespace.isMain { output.append(contentsOf: namespace.prefix) }
    }

    private static func length(arguments: ArraySlice<UInt8>) -> Int { arguments.isEmpty ? 1 : arguments.count + 2 }

    private static func append(arguments: ArraySlice<UInt8>, to output: inout [UInt8]) {
        if !arguments.isEmpty {
            output.append(UInt8(ascii: ","))
            arguments.withUnsafeBufferPointer { output.append(contentsOf: $0) }
        }
        output.append(UInt8(ascii: "]"))
    }

    private static func append(_ number: UInt64, to output: inout [UInt8]) {
        if number >= 10 { Self.append(number / 10, to: &output) }
        output.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number % 10))
    }

    /// Appends a JSON string (RFC 8259 §7).
    ///
    /// Most names need no escape and are copied whole.
    private static func append(string: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        if string.utf8.allSatisfy({ !Self.needsEscape($0) }) {
            output.append(contentsOf: string.utf8)
        } else {
            for byte in string.utf8 { Self.append(escaping: byte, to: &output) }
        }
        output.append(UInt8(ascii: "\""))
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private static func append(escaping byte: UInt8, to output: inout [UInt8]) {
        guard Self.needsEscape(byte) else {
            output.append(byte)
            return
        }
        output.append(UInt8(ascii: "\\"))
        guard byte < 0x20 else {
            output.append(byte)
            return
        }
        let low = byte & 15
        output.append(contentsOf: [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
        output.append(UInt8(ascii: "0") &+ byte >> 4)
        output.append(low < 10 ? UInt8(ascii: "0") &+ low : UInt8(ascii: "a") &+ low &- 10)
    }
}
