package import Linkspan

/// Writes Socket.IO v5 packets as whole Engine.IO text frames, `4` included, straight behind what a buffer holds.
///
/// Attachments travel after the text as binary frames, one each, with nothing between (S03): the caller sends
/// `payload.attachments` in order. Payloads must be well-formed, which those of the SDK are.
package enum SocketIOEncoder {
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
        Self.appendHead(.event, attachments: payload.attachments.count, in: namespace, to: &output)
        if let id { Self.append(id, to: &output) }
        output.append(UInt8(ascii: "["))
        Self.append(string: name, to: &output)
        if !payload.elements.isEmpty {
            output.append(UInt8(ascii: ","))
            payload.elements.withUnsafeBufferPointer { output.append(contentsOf: $0) }
        }
        output.append(UInt8(ascii: "]"))
    }

    /// The bytes of an event's text.
    static func length(
        event name: String, _ payload: Payload, id: UInt64?, in namespace: SocketIONamespace
    ) -> Int {
        let (attachments, elements) = (payload.attachments.count, payload.elements.count)
        let digits = (id?.decimalDigits ?? 0) + (attachments == 0 ? 0 : UInt64(attachments).decimalDigits + 1)
        return 4 + digits + namespace.prefix.count + Self.length(string: name) + (elements == 0 ? 0 : elements + 1)
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

    /// The bytes that ``append(string:to:)`` appends.
    private static func length(string: String) -> Int {
        var length = string.utf8.count + 2
        for byte in string.utf8 where Self.needsEscape(byte) { length += byte < 0x20 ? 5 : 1 }
        return length
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
