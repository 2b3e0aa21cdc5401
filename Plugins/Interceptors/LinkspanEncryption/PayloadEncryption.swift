#if Encryption
public import Crypto
internal import Foundation
public import Linkspan

/// An interceptor that encrypts payloads by AES-GCM between the app and its server, whatever is between the two.
///
/// ```swift
/// let encryption = PayloadEncryption { id in
///     let entry = try keychain.messageKey(id)
///     return (entry.id, SymmetricKey(data: entry.data))
/// }
/// let connection = try ConnectionBuilder("https://chat.example")
///     .transport(.socketIO)
///     .options { $0.interceptors = [encryption] }
///     .connect()
/// ```
///
/// Events, deliveries and replies are encrypted in both directions; names of events, sizes and times are not. It belongs behind
/// every other interceptor. The first argument of an encrypted payload is `{"kid":…,"sealed":…}`: the name of the key, and in Base64
/// nonce, ciphertext and tag of the JSON array of arguments. Blobs are encrypted each for itself and follow as further
/// arguments. The additional authenticated data is a text of lines: `linkspan-payload-2`, `client` or `server` for the side that
/// sends, `event` or `reply`, the name of the key, two lines for the part, and the name of the event. Of the JSON the part is `-`
/// and the number of blobs; of a blob it is its index, and in Base64 nonce and tag of the JSON. So a message cannot be taken for
/// another event's, be sent back to its sender, be put under another key, lose its blobs, or get those of another message. A
/// message that is recorded and sent again is not recognised: give it a key or a counter of your own where that matters.
///
/// A message that should be encrypted and is not, or cannot be decrypted, is dropped with code `decodingFailed`.
public final class PayloadEncryption: Interceptor {
    /// A key and the name by which the other side finds it.
    private typealias Key = (id: String, key: SymmetricKey)

    /// `encryption`.
    public let name = "encryption"
    private let isMeant: @Sendable (String) -> Bool
    private let provide: @Sendable (String?) throws -> Key

    /// Makes an interceptor.
    ///
    /// - Parameters:
    ///   - isMeant: whether the messages of an event, and the replies to them, are encrypted; all by default. Exclude events of the server's
    ///     framework, which are sent in plain text.
    ///   - provide: gives the key of a name, or the present one and its name for nil; called for each message, on the connection's
    ///     executor. Each key, of 128, 192 or 256 bits, has a name of its own.
    public init(
        of isMeant: @escaping @Sendable (_ event: String) -> Bool = { _ in true },
        _ provide: @escaping @Sendable (_ id: String?) throws -> (id: String, key: SymmetricKey)
    ) {
        self.isMeant = isMeant
        self.provide = provide
    }

    /// Encrypts messages before they are sent.
    public func send(_ message: inout InterceptedMessage) throws(LinkspanError) {
        guard self.isMeant(message.event) else { return }
        message.payload = try self.seal(
            message.payload, of: message.event, isReply: message.isReply, byServer: false)
    }

    /// Decrypts received messages.
    public func receive(_ message: inout InterceptedMessage) throws(LinkspanError) {
        guard self.isMeant(message.event) else { return }
        message.payload = try self.open(
            message.payload, of: message.event, isReply: message.isReply, byServer: true)
    }
}

// MARK: - Sealing, for servers in Swift as well

extension PayloadEncryption {
    private struct Sealed: Codable {
        var kid: String
        var sealed: String
    }

    /// Encrypts arguments with the present key.
    ///
    /// - Parameters:
    ///   - payload: the arguments.
    ///   - event: the name of the event; for a reply that of the message it answers.
    ///   - isReply: whether it is a reply.
    ///   - byServer: whether the server sends it.
    /// - Returns: the encrypted arguments.
    /// - Throws: `LinkspanError` with code `encodingFailed` when there is no key.
    public func seal(
        _ payload: Payload, of event: String, isReply: Bool = false, byServer: Bool
    ) throws(LinkspanError) -> Payload {
        do {
            let key = try self.provide(nil)
            let context = Context(byServer: byServer, isReply: isReply, key: key.id, event: event)
            let text = [UInt8(ascii: "[")] + payload.elements + [UInt8(ascii: "]")]
            let box = try Self.seal(text, key, context.bytes(ofJSONWithBlobs: payload.attachments.count))
            let head = Sealed(kid: key.id, sealed: Data(box).base64EncodedString())
            var elements = Array(try Payload(head).elements)
            var blobs: [ArraySlice<UInt8>] = []
            for (index, blob) in payload.attachments.enumerated() {
                blobs.append(try Self.seal(blob, key, context.bytes(ofBlob: index, behind: box))[...])
                elements += ",{\"_placeholder\":true,\"num\":\(index)}".utf8
            }
            return Payload(trustedElements: elements[...], attachments: blobs)
        } catch {
            throw LinkspanError(.encodingFailed, "'\(ForeignText.line(event))' cannot be encrypted", cause: error)
        }
    }

    /// Decrypts arguments with the key that they name.
    ///
    /// - Parameters:
    ///   - payload: the encrypted arguments.
    ///   - event: the name of the event; for a reply that of the message it answers.
    ///   - isReply: whether it is a reply.
    ///   - byServer: whether the server sent it.
    /// - Returns: the arguments.
    /// - Throws: `LinkspanError` with code `decodingFailed` when they are not encrypted, were encrypted for another event, side or
    ///   key, or were changed.
    public func open(
        _ payload: Payload, of event: String, isReply: Bool = false, byServer: Bool
    ) throws(LinkspanError) -> Payload {
        do {
            let head = try payload.decode(Sealed.self)
            let key = try self.provide(head.kid)
            guard key.id == head.kid, let box = Data(base64Encoded: head.sealed) else {
                throw LinkspanError(.decodingFailed, "'\(ForeignText.line(event))' is not well-formed")
            }
            let context = Context(byServer: byServer, isReply: isReply, key: key.id, event: event)
            let text = try Self.open(box, key, context.bytes(ofJSONWithBlobs: payload.attachments.count))
            guard text.first == UInt8(ascii: "["), text.last == UInt8(ascii: "]"), text.count >= 2 else {
                throw LinkspanError(.decodingFailed, "'\(ForeignText.line(event))' has no list of arguments")
            }
            var blobs: [ArraySlice<UInt8>] = []
            for (index, blob) in payload.attachments.enumerated() {
                blobs.append(try Self.open(Data(blob), key, context.bytes(ofBlob: index, behind: box))[...])
            }
            return try Payload(checking: text.dropFirst().dropLast(), attachments: blobs)
        } catch {
            throw LinkspanError(.decodingFailed, "'\(ForeignText.line(event))' cannot be decrypted", cause: error)
        }
    }

    private static func seal(_ bytes: some DataProtocol, _ key: Key, _ context: [UInt8]) throws -> [UInt8] {
        let box = try AES.GCM.seal(bytes, using: key.key, authenticating: context)
        return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
    }

    private static func open(_ bytes: Data, _ key: Key, _ context: [UInt8]) throws -> [UInt8] {
        Array(try AES.GCM.open(try AES.GCM.SealedBox(combined: bytes), using: key.key, authenticating: context))
    }

    /// The additional authenticated data.
    private struct Context {
        var byServer: Bool
        var isReply: Bool
        var key: String
        var event: String

        func bytes(ofJSONWithBlobs count: Int) -> [UInt8] { self.bytes("-", "\(count)") }

        /// Binds a blob to its message by the sealed JSON in front of it: a nonce is used once.
        func bytes(ofBlob index: Int, behind box: some DataProtocol) -> [UInt8] {
            self.bytes("\(index)", Data(Array(box.prefix(12)) + Array(box.suffix(16))).base64EncodedString())
        }

        private func bytes(_ part: String, _ binding: String) -> [UInt8] {
            let lines = [
                "linkspan-payload-2", self.byServer ? "server" : "client", self.isReply ? "reply" : "event", self.key,
                part, binding,
                self.event,
            ]
            return Array(lines.joined(separator: "\n").utf8)
        }
    }
}
#else
/// Encryption of payloads, which is not built in.
@available(*, unavailable, message: "not built in: switch the trait Encryption of the package linkspan on")
public enum PayloadEncryption {}
#endif
