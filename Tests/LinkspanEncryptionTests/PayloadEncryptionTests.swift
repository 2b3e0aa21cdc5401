#if Encryption
internal import Crypto
internal import Foundation
internal import Linkspan
internal import LinkspanEncryption
internal import LinkspanInMemory
internal import LinkspanTesting
internal import Testing

@Suite("Payload encryption", .timeLimit(.minutes(1)))
struct PayloadEncryptionTests {
    private static let keys = ["k1": SymmetricKey(size: .bits256), "k2": SymmetricKey(size: .bits128)]

    private static func encryption(_ present: String = "k1") -> PayloadEncryption {
        PayloadEncryption(of: { $0 != "plain" }) { id in
            guard let key = Self.keys[id ?? present] else { throw LinkspanError(.decodingFailed, "unknown key") }
            return (id ?? present, key)
        }
    }

    private struct Note: Codable, Equatable {
        var text: String
        var image: Data
    }

    @Test
    func `requests, replies, events and blobs are encrypted between app and server`() async throws {
        let encryption = Self.encryption()
        let hub = InMemoryHub(executor: TestExecutor())
        let wire = EventRecorder()
        let manager = ConnectionManager()
        hub.onConnect { peer in
            peer.on("echo") { message in
                wire.note(String(decoding: message.payload.elements, as: UTF8.self))
                do {
                    let opened = try encryption.open(message.payload, of: "echo", byServer: false)
                    message.reply(try encryption.seal(opened, of: "echo", isReply: true, byServer: true))
                    peer.emit("news", try encryption.seal(opened, of: "news", byServer: true))
                } catch {
                    wire.note("\(error)")
                }
            }
            peer.on("plain") { message in
                wire.note(String(decoding: message.payload.elements, as: UTF8.self))
                message.reply(message.payload)
            }
        }
        let connection = try ConnectionBuilder("memory://sealed").transport(.inMemory(hub))
            .options { $0.interceptors = [Self.encryption()] }.connect(by: manager)
        let note = Note(text: "s3cret", image: Data([1, 2, 3]))
        let received = EventRecorder()
        try connection.on("news") { message in
            if let value = try? message.decode(Note.self) { received.note(value.text) }
        }
        let reply = try await connection.request("echo", note, 7)
        #expect(try reply.decode(Note.self) == note)
        #expect(try reply.decode(Int.self, at: 1) == 7)
        try await received.wait(for: "the news") { !$0.isEmpty }
        #expect(received.notes == ["s3cret"])
        _ = try await connection.request("plain", "open")
        #expect(wire.notes.count == 2)
        #expect(wire.notes.first?.contains("s3cret") == false)
        #expect(wire.notes.first?.hasPrefix(#"{"kid":"k1","sealed":""#) == true)
        #expect(wire.notes.last == #""open""#)
        await manager.shutdown()
    }

    @Test
    func `what is not encrypted, or was changed, is dropped`() throws {
        let (client, server) = (Self.encryption(), Self.encryption())
        let payload = try Payload("hello", Data([9, 9]))
        let sealed = try server.seal(payload, of: "news", byServer: true)
        #expect(try client.open(sealed, of: "news", byServer: true) == payload)

        var wrong: [(String, Payload, event: String, isReply: Bool, byServer: Bool)] = [
            ("plain text", payload, "news", false, true),
            ("another event", sealed, "olds", false, true),
            ("a reply", sealed, "news", true, true),
            ("sent back", sealed, "news", false, false),
        ]
        let blobs = sealed.attachments.map { ArraySlice($0.reversed()) }
        wrong.append(
            ("another blob", Payload(trustedElements: sealed.elements, attachments: blobs), "news", false, true))
        wrong.append(("no blob", Payload(trustedElements: sealed.elements), "news", false, true))
        let text = String(decoding: sealed.elements, as: UTF8.self)
        wrong.append(
            (
                "another key",
                Payload(
                    trustedElements: Array(text.replacingOccurrences(of: "k1", with: "k2").utf8)[...],
                    attachments: sealed.attachments), "news", false, true
            ))
        wrong.append(
            (
                "an unknown key",
                Payload(
                    trustedElements: Array(text.replacingOccurrences(of: "k1", with: "k9").utf8)[...],
                    attachments: sealed.attachments), "news", false, true
            ))
        for (what, payload, event, isReply, byServer) in wrong {
            let error = #expect(throws: LinkspanError.self, "\(what)") {
                try client.open(payload, of: event, isReply: isReply, byServer: byServer)
            }
            #expect(error?.code == .decodingFailed, "\(what)")
        }
    }

    @Test
    func `blobs are those of their message: of another one, in another order, missing or added they are dropped`()
        throws
    {
        let encryption = Self.encryption()
        let blobs = [Data([1]), Data([2])]
        let sealed = try encryption.seal(try Payload("a", blobs[0], blobs[1]), of: "news", byServer: true)
        let other = try encryption.seal(try Payload("b", blobs[0], blobs[1]), of: "news", byServer: true)
        #expect(try encryption.open(sealed, of: "news", byServer: true) == Payload("a", blobs[0], blobs[1]))
        let own = sealed.attachments
        let wrong: [(String, [ArraySlice<UInt8>])] = [
            ("of another message", other.attachments), ("one of another message", [own[0], other.attachments[1]]),
            ("in another order", [own[1], own[0]]), ("one is missing", [own[0]]), ("all are missing", []),
            ("one is added", own + [own[1]]),
        ]
        for (what, attachments) in wrong {
            let changed = Payload(trustedElements: sealed.elements, attachments: attachments)
            let error = #expect(throws: LinkspanError.self, "\(what)") {
                try encryption.open(changed, of: "news", byServer: true)
            }
            #expect(error?.code == .decodingFailed, "\(what)")
        }
    }

    @Test
    func `an error quotes the name of an event in one short line`() throws {
        let event = "news\n\u{1B}[2J" + String(repeating: "x", count: 1_000)
        let quoted = "'\(ForeignText.line(event))'"
        let malformed = try Payload(["kid": "k1", "sealed": "*"])
        let opening = #expect(throws: LinkspanError.self) {
            try Self.encryption().open(malformed, of: event, byServer: true)
        }
        #expect(opening?.message == "\(quoted) cannot be decrypted")
        #expect((opening?.cause as? LinkspanError)?.message == "\(quoted) is not well-formed")
        let sealing = #expect(throws: LinkspanError.self) {
            try Self.encryption("none").seal(.empty, of: event, isReply: true, byServer: false)
        }
        #expect(sealing?.message == "\(quoted) cannot be encrypted")
    }

    @Test
    func `a new key takes over while messages under the former one are on their way`() throws {
        let (old, new) = (Self.encryption("k1"), Self.encryption("k2"))
        let sealed = try old.seal(try Payload(1), of: "a", byServer: true)
        #expect(try new.open(sealed, of: "a", byServer: true) == Payload(1))
        let next = try new.seal(try Payload(1), of: "a", byServer: false)
        #expect(String(decoding: next.elements, as: UTF8.self).hasPrefix(#"{"kid":"k2""#))
        #expect(next != (try new.seal(try Payload(1), of: "a", byServer: false)), "a nonce is used once")
    }

    @Test
    func `without a key nothing is sent, and the call fails with the reason`() async throws {
        let hub = InMemoryHub(executor: TestExecutor())
        let manager = ConnectionManager()
        let connection = try ConnectionBuilder("memory://keyless").transport(.inMemory(hub))
            .options { $0.interceptors = [Self.encryption("none")] }.connect(by: manager)
        let error = await #expect(throws: LinkspanError.self) { try await connection.request("ask", 1) }
        #expect(error?.code == .encodingFailed)
        #expect(error?.certainty == .notSent)
        await manager.shutdown()
    }
}
#endif
