internal import Linkspan

/// Arguments as the content of a broker's message: JSON, a text or bytes of any kind.
///
/// One argument is the content itself, so that clients of other makes understand it and are understood. Several are a JSON
/// array, which the sender marks as one by a property of the message.
enum BrokerPayload {
    /// The content for a payload, and the number of arguments when it is a list of them.
    static func encode(_ payload: Payload) throws(LinkspanError) -> (content: ArraySlice<UInt8>, count: Int?) {
        let isList = payload[1] != nil
        if !isList, let blob = payload[0]?.blob { return (blob, nil) }
        guard payload.attachments.isEmpty else {
            throw LinkspanError(.encodingFailed, "a broker's message has one blob, or JSON without a blob")
        }
        guard isList else { return (payload.elements, nil) }
        return (([UInt8(ascii: "[")] + payload.elements + [UInt8(ascii: "]")])[...], payload.values.count)
    }

    /// The payload for a content.
    ///
    /// - Parameters:
    ///   - content: the received bytes, from whatever client.
    ///   - isList: whether it is marked as a list of arguments.
    /// - Returns: JSON as it is, other text as a string, other bytes as a blob.
    static func decode(_ content: ArraySlice<UInt8>, isList: Bool) -> Payload {
        if content.isEmpty { return .empty }
        // A slice would keep the whole message of the WebSocket.
        let content = Array(content)[...]
        if isList, content.first == UInt8(ascii: "["), content.last == UInt8(ascii: "]"),
            let payload = try? Payload(checking: content.dropFirst().dropLast())
        {
            return payload
        }
        if let json = try? Payload(checking: content), json[0] != nil, json[1] == nil { return json }
        if let text = String(utf8: content), let payload = try? Payload(text) { return payload }
        return Payload(trustedElements: Self.placeholder, attachments: [content])
    }

    private static let placeholder = Array(#"{"_placeholder":true,"num":0}"#.utf8)[...]
}

/// The questions that wait for an answer, with the address that each answer goes to.
struct Questions<Address: Sendable>: Sendable {
    private var addresses: [UInt64: Address] = [:]
    private var lastID: UInt64 = 0

    /// The most that wait for an answer; of more the oldest has none.
    private static var limit: UInt64 { 1_024 }

    /// Keeps the address for an answer, and returns the number of the question.
    mutating func add(_ address: Address) -> UInt64 {
        self.lastID += 1
        self.addresses[self.lastID] = address
        if self.lastID > Self.limit { self.addresses[self.lastID - Self.limit] = nil }
        return self.lastID
    }

    /// Removes the address for an answer and returns it.
    mutating func take(_ id: UInt64) throws(LinkspanError) -> Address {
        guard let address = self.addresses.removeValue(forKey: id) else {
            throw LinkspanError(
                .encodingFailed, "a question is not answered any more after \(Self.limit) newer ones have come")
        }
        return address
    }
}

extension Payload {
    /// The same arguments with the topic or subject behind them, for listeners of several.
    func naming(_ topic: String) -> Payload {
        guard let name = try? Payload(topic) else { return self }
        let separator: [UInt8] = self.elements.isEmpty ? [] : [UInt8(ascii: ",")]
        return Payload(trustedElements: (self.elements + separator + name.elements)[...], attachments: self.attachments)
    }
}

extension String {
    /// The text of bytes; nil when they are not UTF-8.
    init?(utf8 bytes: ArraySlice<UInt8>) {
        // Whatever is not UTF-8 is replaced, so that the text has other bytes.
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.elementsEqual(bytes) else { return nil }
        self = text
    }
}
