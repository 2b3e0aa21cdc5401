package import Linkspan
internal import LinkspanWebSocketProtocol

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
        Self.withWritten(name) { name in
            output.append(upTo: Self.length(written: name.count, payload, id: id, in: namespace)) {
                Self.write(event: name, payload, id: id, in: namespace, to: &$0)
            }
        }
    }

    /// Writes an event whose name is there as packets have it; see ``withWritten(_:_:)``.
    @inline(__always)
    static func write(
        event name: UnsafeBufferPointer<UInt8>, _ payload: Payload, id: UInt64?, in namespace: SocketIONamespace,
        to writer: inout ByteWriter
    ) {
        Self.write(.event, attachments: payload.attachments.count, in: namespace, to: &writer)
        if let id { Self.write(id, to: &writer) }
        writer.append(UInt8(ascii: "["))
        writer.append(UInt8(ascii: "\""))
        writer.append(contentsOf: name)
        writer.append(UInt8(ascii: "\""))
        payload.elements.withUnsafeBufferPointer { elements in
            if !elements.isEmpty { writer.append(UInt8(ascii: ",")) }
            writer.append(contentsOf: elements)
        }
        writer.append(UInt8(ascii: "]"))
    }

    /// The bytes of an event's text, whose name has so many.
    @inline(__always)
    static func length(written name: Int, _ payload: Payload, id: UInt64?, in namespace: SocketIONamespace) -> Int {
        let elements = payload.elements.count
        let inside = name + 2 + (elements == 0 ? 0 : elements + 1)
        return Self.length(ofArray: inside, id: id, attachments: payload.attachments.count, in: namespace)
    }

    /// Passes the bytes of a name between its quotes to `body` (RFC 8259 §7).
    @inline(__always)
    static func withWritten<Result>(_ name: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        var name = name
        return name.withUTF8 { bytes in
            if JSONString.isPlain(bytes) { return body(bytes) }
            var written: [UInt8] = []
            JSONString.append(bytes, to: &written)
            return written.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[1..<$0.count - 1])) }
        }
    }

    /// Appends an acknowledgement.
    package static func append(
        ack id: UInt64, _ payload: Payload, in namespace: SocketIONamespace, to output: inout [UInt8]
    ) {
        output.append(upTo: Self.length(ack: id, payload, in: namespace)) {
            Self.write(ack: id, payload, in: namespace, to: &$0)
        }
    }

    /// Writes an acknowledgement.
    static func write(
        ack id: UInt64, _ payload: Payload, in namespace: SocketIONamespace, to writer: inout ByteWriter
    ) {
        Self.write(.acknowledgement, attachments: payload.attachments.count, in: namespace, to: &writer)
        Self.write(id, to: &writer)
        writer.append(UInt8(ascii: "["))
        payload.elements.withUnsafeBufferPointer { writer.append(contentsOf: $0) }
        writer.append(UInt8(ascii: "]"))
    }

    /// The bytes of an acknowledgement's text.
    static func length(ack id: UInt64, _ payload: Payload, in namespace: SocketIONamespace) -> Int {
        Self.length(ofArray: payload.elements.count, id: id, attachments: payload.attachments.count, in: namespace)
    }

    /// Appends a CONNECT with its auth object, which is empty for none.
    package static func append(
        connect auth: ArraySlice<UInt8>, in namespace: SocketIONamespace, to output: inout [UInt8]
    ) {
        Self.append(.connect, in: namespace, to: &output)
        output.append(contentsOf: auth)
    }

    /// Appends a CONNECT of protocol v4, with a query behind the name.
    static func append(connectWith query: ArraySlice<UInt8>, in namespace: SocketIONamespace, to output: inout [UInt8])
    {
        Self.append(.connect, in: .main, to: &output)
        output.append(contentsOf: namespace.name.utf8)
        if !query.isEmpty { output += [UInt8(ascii: "?")] + query }
        output.append(UInt8(ascii: ","))
    }

    /// Appends a DISCONNECT.
    package static func append(disconnectIn namespace: SocketIONamespace, to output: inout [UInt8]) {
        Self.append(.disconnect, in: namespace, to: &output)
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
    /// The bytes of a packet with an array, which has so many between its brackets.
    private static func length(
        ofArray inside: Int, id: UInt64?, attachments: Int, in namespace: SocketIONamespace
    ) -> Int {
        let digits = (id?.decimalDigits ?? 0) + (attachments == 0 ? 0 : UInt64(attachments).decimalDigits + 1)
        return 4 + digits + namespace.prefix.count + inside
    }

    /// Appends the part before the acknowledgement's id, of a packet without attachments.
    private static func append(
        _ type: SocketIOCodecPacket.Kind, in namespace: SocketIONamespace, to output: inout [UInt8]
    ) {
        output.append(upTo: 2 + namespace.prefix.count) { Self.write(type, attachments: 0, in: namespace, to: &$0) }
    }

    /// Writes the part before the acknowledgement's id.
    @inline(__always)
    private static func write(
        _ type: SocketIOCodecPacket.Kind, attachments: Int, in namespace: SocketIONamespace, to writer: inout ByteWriter
    ) {
        writer.append(UInt8(ascii: "4"))
        if attachments == 0 {
            writer.append(UInt8(ascii: "0") &+ type.rawValue)
        } else {
            // BINARY_EVENT and BINARY_ACK are three above their plain forms.
            writer.append(UInt8(ascii: "0") &+ type.rawValue &+ 3)
            Self.write(UInt64(attachments), to: &writer)
            writer.append(UInt8(ascii: "-"))
        }
        namespace.prefix.withUnsafeBufferPointer { writer.append(contentsOf: $0) }
    }

    private static func write(_ number: UInt64, to writer: inout ByteWriter) {
        if number >= 10 { Self.write(number / 10, to: &writer) }
        writer.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number % 10))
    }
}
