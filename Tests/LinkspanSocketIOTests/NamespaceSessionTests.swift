internal import Linkspan
internal import LinkspanNetwork
internal import Testing

@testable import LinkspanSocketIO

@Suite("Socket.IO namespaces")
struct NamespaceSessionTests {
    @Test
    func `joining before the handshake sends CONNECT right after it; joining later at once (S20)`() throws {
        var session = SocketIOSession(openTimeout: .seconds(10), now: at(0))
        #expect(try session.enter().written.isEmpty)
        #expect(try session.enter("/chat", auth: Payload(["token": "t"])).written.isEmpty)
        #expect(session.take(openFrame).written == ["40", #"40/chat,{"token":"t"}"#])
        #expect(try session.enter("/late").written == ["40/late,"])
    }

    /// Writes nothing, or fails.
    private struct Mute: SocketIOCodec {
        struct Decoder: SocketIOCodecDecoder {
            mutating func decode(_ message: WebSocketMessage) -> SocketIOCodecPacket? { nil }
        }

        let name = "mute"
        var error: LinkspanError.Code?

        func encode(_ packet: SocketIOCodecPacket) throws(LinkspanError) -> [WebSocketMessage] {
            guard let error = self.error else { return [] }
            throw LinkspanError(error, "it has no words")
        }

        func makeDecoder(maximumBytes: Int) -> any SocketIOCodecDecoder { Decoder() }
    }

    @Test(arguments: [nil, .invalidConfiguration] as [LinkspanError.Code?], [true, false])
    func `a codec that cannot write CONNECT ends the namespace at once`(
        error: LinkspanError.Code?, isLate: Bool
    ) throws {
        var session = SocketIOSession(openTimeout: .seconds(10), codec: Mute(error: error), now: at(0))
        var output = SocketIOOutput()
        if isLate { session.receive(text: bytes(openFrame), now: at(0), output: &output) }
        let index = try session.join(.main, now: at(0), output: &output)
        if !isLate { session.receive(text: bytes(openFrame), now: at(0), output: &output) }
        #expect(output.frames.isEmpty)
        #expect(output.happenings == [.closed(index, error ?? .encodingFailed)])
        #expect(session.activeNamespaces == 0)
    }

    @Test
    func `the answer opens the namespace, and only then may be sent (S22)`() throws {
        var session = SocketIOSession.opened()
        let index = try session.enter("/chat").index
        #expect(!session.isConnected(index))
        let output = session.take(#"40/chat,{"sid":"wZX3oN0bSVIhsaknAAAI"}"#)
        #expect(output.happenings == [.opened(index, sid: "wZX3oN0bSVIhsaknAAAI", isContinuous: false)])
        #expect(session.isConnected(index))
        #expect(session.nextDeadline == at(45), "no deadline but the heartbeat is left")
    }

    @Test
    func `early events are held, and delivered in order after opened (S26)`() throws {
        var session = SocketIOSession.opened()
        let index = try session.enter("/hello").index
        #expect(session.take(#"42/hello,["hello",1]"#).isEmpty)
        #expect(session.take(#"451-/hello,["bin",{"_placeholder":true,"num":0}]"#).isEmpty)
        #expect(session.take(binary: [1]).isEmpty)
        #expect(session.take(#"43/hello,0[]"#).isEmpty, "an acknowledgement answers nothing yet")
        let output = session.take(#"40/hello,{"sid":"x"}"#)
        #expect(
            output.happenings == [
                .opened(index, sid: "x", isContinuous: false), .message(index, "hello", "1"),
                .message(index, "bin", #"{"_placeholder":true,"num":0}"#),
            ])
    }

    @Test(arguments: [(3, Int.max), (Int.max, 12)])
    func `early events are bounded in number and in bytes`(events: Int, bytes: Int) throws {
        let limits = SocketIOLimits(maximumEarlyEvents: events, maximumEarlyBytes: bytes)
        var session = SocketIOSession.opened(limits: limits)
        let other = try session.enter("/other").index
        let index = try session.enter().index
        for _ in 0..<3 { #expect(session.take(#"42["e",123]"#).isEmpty) }
        let output = session.take(#"42["e",123]"#)
        #expect(output.happenings == [.closed(index, .protocolViolation)])
        #expect(output.close == nil, "the other namespace lives on")
        #expect(session.take(#"40/other,{"sid":"x"}"#).happenings == [.opened(other, sid: "x", isContinuous: false)])
    }

    @Test
    func `early events of a namespace that is then refused are never delivered`() throws {
        var session = SocketIOSession.opened()
        let index = try session.enter("/admin").index
        _ = session.take(#"42/admin,["socket_connected",{}]"#)
        let output = session.take(#"44/admin,{"message":"authentication failed"}"#)
        #expect(output.happenings == [.closed(index, .credentialsRefused)])
    }

    @Test(arguments: [
        (#"{"message":"Invalid namespace"}"#, LinkspanError.Code.refused),
        (#""Unable to connect""#, .refused),
        (#""Invalid namespace""#, .refused),
        (#"{"message":"unauthorized","data":{"code":401}}"#, .credentialsRefused),
        (#"{"message":"Connection rejected by server"}"#, .credentialsRefused),
        (#"{"message":7}"#, .credentialsRefused),
        ("{}", .credentialsRefused),
        (#""no""#, .credentialsRefused),
    ])
    func `a refusal is about credentials unless it says that there is no such namespace (S24)`(
        payload: String, code: LinkspanError.Code
    ) throws {
        var session = SocketIOSession.opened()
        _ = try session.enter("/auth")
        let error = try #require(session.take("44/auth," + payload).closingError)
        #expect(error.code == code)
        #expect(error.details.map { text($0.elements) } == payload)
        #expect(!error.message.contains("401"), "what the server sent stays in the details")
    }

    @Test
    func `the words of a refusal are quoted in one line of limited length`() throws {
        var session = SocketIOSession.opened()
        _ = try session.enter("/auth")
        let words = #"\u001b[2Jno\nconnected\u202e"# + String(repeating: "e\u{301}", count: 100_000)
        let error = try #require(session.take(#"44/auth,{"message":"\#(words)"}"#).closingError)
        #expect(error.message.contains(#"\u{1b}[2Jno\u{a}connected\u{202e}"#))
        #expect(error.message.utf8.count < 1_000)
        #expect(error.message.hasSuffix("…"))
    }

    @Test
    func `a refusal without any payload is a refusal`() throws {
        var session = SocketIOSession.opened()
        _ = try session.enter()
        let error = try #require(session.take("44").closingError)
        #expect(error.code == .credentialsRefused)
        #expect(error.details == nil)
    }

    @Test
    func `a refusal ends its namespace only`() throws {
        var session = SocketIOSession.opened()
        let main = try session.enter().index
        _ = session.take(#"40{"sid":"a"}"#)
        let nope = try session.enter("/nope").index
        let output = session.take(#"44/nope,{"message":"Invalid namespace"}"#)
        #expect(output.happenings == [.closed(nope, .refused)])
        #expect(output.close == nil)
        #expect(session.isConnected(main))
        #expect(session.activeNamespaces > 0)
    }

    @Test
    func `a refusal of a connected namespace ends it on both sides`() throws {
        var session = SocketIOSession.opened()
        let index = try session.enter("/a").index
        _ = session.take(#"40/a,{"sid":"a"}"#)
        let output = session.take(#"44/a,"Unable to connect""#)
        #expect(output.happenings == [.closed(index, .refused)])
        #expect(output.written == ["41/a,"])
        #expect(session.activeNamespaces == 0)
    }

    @Test(arguments: ["40", "40{}", #"40{"sid":7}"#])
    func `an answer without a sid comes from Socket.IO v2 (S23)`(frame: String) throws {
        var session = SocketIOSession.opened()
        _ = try session.enter()
        let error = try #require(session.take(frame).closingError)
        #expect(error.code == .unsupportedVersion)
    }

    @Test(
        arguments: [
            "", #"a\nb"#, #"\u0000"#, #"\u001b[31m"#, #"\u007f"#, #"\u009b31m"#, #"a\u202eb"#, #"a\u2028b"#,
            String(repeating: "a", count: 513),
        ])
    func `a sid that would spoil a log is refused`(sid: String) throws {
        var session = SocketIOSession.opened()
        _ = try session.enter()
        #expect(session.take(#"40{"sid":"\#(sid)"}"#).closingError?.code == .protocolViolation)
    }

    @Test
    func `a second answer changes nothing`() throws {
        var session = SocketIOSession.opened()
        let index = try session.enter().index
        _ = session.take(#"40{"sid":"a"}"#)
        #expect(session.take(#"40{"sid":"b"}"#).isEmpty)
        #expect(session.take("40").isEmpty)
        #expect(session.isConnected(index))
    }

    @Test(arguments: [true, false])
    func `the server's DISCONNECT is on purpose, before the answer too (S25)`(isConnected: Bool) throws {
        var session = SocketIOSession.opened()
        let index = try session.enter("/kick").index
        if isConnected { _ = session.take(#"40/kick,{"sid":"a"}"#) }
        let output = session.take("41/kick,")
        #expect(output.happenings == [.closed(index, .closedByServer)])
        #expect(output.written.isEmpty)
        #expect(session.take(#"42/kick,["e"]"#).isEmpty)
        #expect(session.take("41/kick,").isEmpty, "told once")
    }

    @Test
    func `an answer that never comes is a timeout of that namespace; a late one is undone`() throws {
        var session = SocketIOSession.opened()
        let index = try session.enter("/slow", at: 5).index
        #expect(session.nextDeadline == at(15))
        #expect(session.tick(at: 14.9).isEmpty)
        let output = session.tick(at: 15)
        #expect(output.happenings == [.closed(index, .timedOut)])
        #expect(output.close == nil)
        #expect(session.tick(at: 16).isEmpty)
        #expect(session.take(#"42/slow,["e"]"#).isEmpty)
        let late = session.take(#"40/slow,{"sid":"a"}"#)
        #expect(late.happenings.isEmpty)
        #expect(late.written == ["41/slow,"])
    }

    @Test
    func `leaving says goodbye, and nothing comes after`() throws {
        var session = SocketIOSession.opened()
        let index = try session.enter("/chat").index
        _ = session.take(#"40/chat,{"sid":"a"}"#)
        var output = SocketIOOutput()
        session.leave(index, reason: LinkspanError(.disconnected, "left"), output: &output)
        #expect(output.written == ["41/chat,"])
        #expect(output.happenings == [.closed(index, .disconnected)])
        #expect(session.activeNamespaces == 0)
        #expect(session.take(#"42/chat,["late"]"#).isEmpty)
        output = SocketIOOutput()
        session.leave(index, reason: LinkspanError(.disconnected, "left"), output: &output)
        #expect(output.isEmpty)
    }

    @Test
    func `leaving before the answer writes nothing until it comes`() throws {
        var session = SocketIOSession.opened()
        let index = try session.enter("/chat").index
        var output = SocketIOOutput()
        session.leave(index, reason: LinkspanError(.disconnected, "left"), output: &output)
        #expect(output.written.isEmpty)
        #expect(output.happenings == [.closed(index, .disconnected)])
        #expect(throws: LinkspanError.self, "its answer is still under way") { try session.enter("/chat") }
        #expect(session.take(#"40/chat,{"sid":"a"}"#).written == ["41/chat,"])
        #expect(try session.enter("/chat").written == ["40/chat,"])
    }

    @Test
    func `a namespace can be joined again after its end, under the same index, but not twice`() throws {
        var session = SocketIOSession.opened()
        let first = try session.enter("/a")
        let error = #expect(throws: LinkspanError.self) { try session.enter("/a") }
        #expect(error?.code == .wrongState)
        _ = session.take("41/a,")
        let second = try session.enter("/a", auth: Payload(["n": 2]))
        #expect(second.index == first.index)
        #expect(second.written == [#"40/a,{"n":2}"#])
        #expect(session.take(#"40/a,{"sid":"b"}"#).happenings == [.opened(second.index, sid: "b", isContinuous: false)])
    }

    @Test(arguments: [
        #""token""#, "7", "null", "[]", "{},{}",
    ])
    func `an auth payload that is no object is refused here, before the server drops everything`(elements: String) {
        var session = SocketIOSession.opened()
        let auth = Payload(trustedElements: bytes(elements))
        let error = #expect(throws: LinkspanError.self) { try session.enter(auth: auth) }
        #expect(error?.code == .invalidConfiguration)
        #expect(session.activeNamespaces == 0)
    }
}
