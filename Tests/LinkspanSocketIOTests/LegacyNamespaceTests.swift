internal import Linkspan
internal import Testing

@testable import LinkspanSocketIO

/// Packet type 4 of Socket.IO 2.x is ERROR, which is more than the refusal of CONNECT.
@Suite("ERROR of Socket.IO 2.x")
struct LegacyNamespaceTests {
    private static let data = [
        #""x""#, #"{"a":1}"#, #"["x",{"a":1}]"#, "true", "false", "null", "-1.5", "",
        #"{"message":"Invalid namespace"}"#,
    ]

    /// A session with these namespaces open, numbered in this order; the first is the main one.
    private static func connected(_ others: String...) throws -> SocketIOSession {
        var session = SocketIOSession(openTimeout: .seconds(10), version: .v3, now: at(0))
        _ = try session.enter()
        _ = session.take(openFrame)
        _ = session.take("40")
        for name in others {
            _ = try session.enter(name)
            _ = session.take("40\(name),")
        }
        return session
    }

    @Test(arguments: Self.data)
    func `in an open namespace an error is an event, and the namespace stays open`(_ data: String) throws {
        var session = try Self.connected()
        let output = session.take("44\(data)")
        #expect(output.happenings == [.message(0, "error", data)])
        #expect(output.written.isEmpty)
        #expect(output.close == nil)
        #expect(session.isConnected(0))
        #expect(session.take(#"42["a"]"#).happenings == [.message(0, "a", "")])
    }

    @Test
    func `the data of an error is one argument, and no reply is wanted`() throws {
        var session = try Self.connected()
        guard case .message(let message)? = session.take(#"44["x",1]"#).deliveries.first?.event else {
            Issue.record("there is no message")
            return
        }
        #expect(message.payload[0]?[0]?.string == "x")
        #expect(message.payload[1] == nil)
        #expect(message.replyID == nil)
    }

    @Test
    func `an error goes to its namespace`() throws {
        var session = try Self.connected("/chat")
        #expect(session.take(#"44/chat,"x""#).happenings == [.message(1, "error", #""x""#)])
        #expect(session.take(#"44"y""#).happenings == [.message(0, "error", #""y""#)])
        #expect(session.take("44/other,true").isEmpty)
        #expect(session.activeNamespaces == 2)
    }

    @Test(arguments: Self.data)
    func `an error that answers CONNECT is a refusal, whatever its data`(_ data: String) throws {
        var session = try Self.connected()
        let index = try session.enter("/chat").index
        let output = session.take("44/chat,\(data)")
        let isUnknown = data.contains("Invalid namespace")
        #expect(output.happenings == [.closed(index, isUnknown ? .refused : .credentialsRefused)])
        #expect(output.closingError?.details.map { text($0.elements) } == (data.isEmpty ? nil : data))
        #expect(output.close == nil)
        #expect(session.isConnected(0))
    }

    @Test(arguments: ["true", "false", "null", "-1.5"])
    func `in version 4 a refusal with such data ends its namespace as a violation`(_ data: String) throws {
        for isOpen in [false, true] {
            var session = SocketIOSession.opened()
            let (main, index) = (try session.enter().index, try session.enter("/chat").index)
            _ = session.take(#"40{"sid":"a"}"#)
            if isOpen { _ = session.take(#"40/chat,{"sid":"b"}"#) }
            let output = session.take("44/chat,\(data)")
            #expect(output.happenings == [.closed(index, .protocolViolation)])
            #expect((output.closingError?.cause as? SocketIOProtocolError)?.code == .badPayload)
            #expect(output.written == (isOpen ? ["41/chat,"] : []))
            #expect(session.isConnected(main))
        }
    }
}
