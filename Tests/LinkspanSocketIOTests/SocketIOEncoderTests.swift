internal import Linkspan
internal import Testing

@testable import LinkspanSocketIO

@Suite("Socket.IO encoding")
struct SocketIOEncoderTests {
    private static func event(
        _ name: String, _ elements: String = "", attachments: Int = 0, id: UInt64? = nil, in namespace: String = "/"
    ) throws -> String {
        var output: [UInt8] = []
        let blobs = Array(repeating: [UInt8(1)][...], count: attachments)
        let payload = Payload(trustedElements: bytes(elements), attachments: blobs)
        SocketIOEncoder.append(
            event: name, payload, id: id, in: try SocketIONamespace(namespace), to: &output)
        return text(output)
    }

    @Test
    func `events, with and without each part`() throws {
        #expect(try Self.event("e") == #"42["e"]"#)
        #expect(try Self.event("e", #"1,{"a":[]}"#) == #"42["e",1,{"a":[]}]"#)
        #expect(try Self.event("e", id: 0) == #"420["e"]"#)
        #expect(try Self.event("e", "1", id: 18_446_744_073_709_551_615) == #"4218446744073709551615["e",1]"#)
        #expect(try Self.event("e", "1", id: 10, in: "/chat") == #"42/chat,10["e",1]"#)
        #expect(try Self.event("e", "1", attachments: 1) == #"451-["e",1]"#)
        #expect(try Self.event("e", "1", attachments: 10, id: 7, in: "/a") == #"4510-/a,7["e",1]"#)
    }

    @Test
    func `acknowledgements, CONNECT and DISCONNECT`() throws {
        let chat = try SocketIONamespace("/chat")
        var output = Array("kept".utf8)
        SocketIOEncoder.append(ack: 3, .empty, in: .main, to: &output)
        #expect(text(output) == "kept433[]")
        output = []
        SocketIOEncoder.append(
            ack: 3, Payload(trustedElements: bytes("1"), attachments: [[9]]), in: chat, to: &output)
        #expect(text(output) == "461-/chat,3[1]")
        output = []
        SocketIOEncoder.append(connect: [], in: .main, to: &output)
        #expect(text(output) == "40")
        output = []
        SocketIOEncoder.append(connect: bytes(#"{"token":"t"}"#), in: chat, to: &output)
        #expect(text(output) == #"40/chat,{"token":"t"}"#)
        output = []
        SocketIOEncoder.append(disconnectIn: chat, to: &output)
        SocketIOEncoder.append(disconnectIn: .main, to: &output)
        #expect(text(output) == "41/chat,41")
    }

    @Test(arguments: [
        "", "plain", "quote\"", "back\\slash", "new\nline", "\0\u{1F}", "é😀\u{2028}", "a,b]", "/x", "\u{7F}",
    ])
    func `a name is escaped where JSON wants it and comes back the same`(name: String) throws {
        let frame = try Self.event(name, "1")
        guard case .packet(let flat) = Verdict(String(frame.dropFirst())) else {
            Issue.record("\(frame) is refused")
            return
        }
        #expect(flat.event == name)
        #expect(flat.elements == "1")
        #expect(frame.utf8.allSatisfy { $0 >= 0x20 })
    }

    @Test(arguments: ["", "plain", "quote\" and back\\slash", "\0\n\u{1F}", "é😀\u{2028}"], ["/", "/chat"])
    func `the length of a packet is known before it is written`(name: String, path: String) throws {
        let namespace = try SocketIONamespace(path)
        for (elements, attachments) in [("", 0), ("1,[2]", 0), ("1", 1), ("", 9), ("1", 10)] {
            let payload = Payload(
                trustedElements: bytes(elements), attachments: Array(repeating: [1], count: attachments))
            for id in [nil, 0, 9, 10, 999, .max] as [UInt64?] {
                var output: [UInt8] = []
                SocketIOEncoder.append(event: name, payload, id: id, in: namespace, to: &output)
                let written = SocketIOEncoder.withWritten(name, \.count)
                #expect(SocketIOEncoder.length(written: written, payload, id: id, in: namespace) == output.count)
                guard let id else { continue }
                output = []
                SocketIOEncoder.append(ack: id, payload, in: namespace, to: &output)
                #expect(SocketIOEncoder.length(ack: id, payload, in: namespace) == output.count)
            }
        }
    }

    @Test
    func `packets that make servers close the connection are refused before they are sent`() {
        let limits = SocketIOLimits.usual
        #expect(SocketIOEncoder.problem(event: "connect", .empty, limits: limits)?.code == .encodingFailed)
        #expect(SocketIOEncoder.problem(event: "chat", .empty, limits: limits) == nil)
        let eleven = Payload(trustedElements: [], attachments: Array(repeating: [], count: 11))
        #expect(SocketIOEncoder.problem(event: "chat", eleven, limits: limits)?.code == .messageTooLarge)
        #expect(SocketIOEncoder.problem(eleven, limits: limits)?.code == .messageTooLarge)
    }

    @Test
    func `an encodable value with data arrives as the same value`() throws {
        struct Note: Codable, Equatable {
            var text: String
            var numbers: [Int]
        }
        let note = Note(text: "\"é\u{2028}\n", numbers: [1, -2])
        let payload = try Payload("a", 5, true, note)
        var output: [UInt8] = []
        SocketIOEncoder.append(event: "n", payload, id: 1, in: .main, to: &output)
        var decoder = SocketIODecoder()
        guard case .event(_, let message) = try decoder.receive(text: output.dropFirst()) else {
            Issue.record("no event")
            return
        }
        #expect(message.payload == payload)
        #expect(try message.payload.decode(Note.self, at: 3) == note)
    }
}

@Suite("Socket.IO namespaces' names")
struct SocketIONamespaceTests {
    @Test
    func `a name is the same whether it is written or received`() throws {
        #expect(try SocketIONamespace("/") == .main)
        #expect(try SocketIONamespace("") == .main)
        let chat = try SocketIONamespace("/chat")
        #expect(chat.matches(bytes("/chat")))
        for other in ["", "/", "/cha", "/chatt", "/chat,", "chat", "/CHAT"] {
            #expect(!chat.matches(bytes(other)))
        }
        #expect(SocketIONamespace.main.matches([]))
        #expect(!SocketIONamespace.main.matches(bytes("/chat")))
    }

    @Test(arguments: [
        "chat", "/a,b", "/a b", "/a\r\n", "/a\0", "/é", "/a?x=1", "/a\u{7F}",
        "/" + String(repeating: "a", count: 256),
    ])
    func `a name that would change the packet is refused (CVE-2026-28970)`(name: String) {
        let error = #expect(throws: LinkspanError.self) { try SocketIONamespace(name) }
        #expect(error?.code == .invalidConfiguration)
    }
}
