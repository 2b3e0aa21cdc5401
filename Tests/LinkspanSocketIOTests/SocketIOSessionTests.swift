internal import Linkspan
internal import Testing

@testable import LinkspanSocketIO

@Suite("Socket.IO session")
struct SocketIOSessionTests {
    /// A session that is connected in these namespaces, numbered in this order.
    private static func connected(_ names: String...) throws -> SocketIOSession {
        var session = SocketIOSession.opened()
        for name in names {
            _ = try session.enter(name)
            _ = session.take(name == "/" ? #"40{"sid":"s"}"# : #"40\#(name),{"sid":"s"}"#)
        }
        return session
    }

    @Test
    func `events and acknowledgements go to their namespaces (S06)`() throws {
        var session = try Self.connected("/", "/a", "/a/b")
        var output = SocketIOOutput()
        for frame in [
            #"42["x",1]"#, #"42/a,["y",2]"#, #"42/a/b,["z",3]"#, #"42/a,5["ask"]"#, "43/a,7[1]", "437[2]", #"42["x"]"#,
        ] {
            session.receive(text: bytes(frame), now: at(1), output: &output)
        }
        #expect(
            output.happenings == [
                .message(0, "x", "1"), .message(1, "y", "2"), .message(2, "z", "3"), .message(1, "ask", ""),
                .reply(1, 7, "1"), .reply(0, 7, "2"), .message(0, "x", ""),
            ])
        guard case .message(let asked) = output.deliveries[3].event else {
            Issue.record("no message")
            return
        }
        #expect(asked.replyID == 5)
    }

    @Test(arguments: [
        #"42/other,["e"]"#, "43/other,1[]", "41/other,", "41/other", #"44/other,{"message":"x"}"#,
        #"40/other,{"sid":"x"}"#,
        #"42/a/,["e"]"#, #"42["e"]"#, "43[]", "40",
    ])
    func `packets of namespaces that were never joined are ignored (S27)`(frame: String) throws {
        var session = try Self.connected("/a")
        #expect(session.take(frame).isEmpty)
        #expect(session.isConnected(0))
    }

    @Test(arguments: ["42", "42/a,", "43[1]", "43", "6", "3", "5", "43/a,[1]"])
    func `packets that mean nothing change nothing`(frame: String) throws {
        var session = try Self.connected("/", "/a")
        #expect(session.take(frame).isEmpty)
        #expect(session.isConnected(0))
    }

    @Test(arguments: [
        "", "7", "4", "49", "42{}", "42[]", "42[null]", #"42["connect"]"#, #"42["e"#, "43abc", "45-", "451-",
        #"4511-["e"]"#,
        "b4", "0{}", #"42["e"]\#u{1E}42["f"]"#,
    ])
    func `a violation closes everything, once, as a violation (S07)`(frame: String) throws {
        var session = try Self.connected("/", "/a")
        let output = session.take(frame)
        #expect(output.close?.code == .protocolViolation)
        #expect(output.close?.cause is SocketIOProtocolError)
        #expect(output.happenings == [.closed(0, .protocolViolation), .closed(1, .protocolViolation)])
        #expect(session.nextDeadline == nil)
        #expect(session.take(#"42["e"]"#).isEmpty)
        #expect(session.take(binary: [1]).isEmpty)
        #expect(session.tick(at: 1000).isEmpty)
    }

    @Test
    func `a binary frame out of turn is a violation too`() throws {
        var session = try Self.connected("/")
        #expect(session.take(binary: [1]).close?.code == .protocolViolation)
    }

    @Test
    func `a ping is answered in the same chunk (E06)`() throws {
        var session = try Self.connected("/")
        #expect(session.take("2", at: 25).written == ["3"])
        #expect(session.nextDeadline == at(70))
    }

    @Test
    func `a missed heartbeat closes every namespace (E06)`() throws {
        var session = try Self.connected("/", "/a")
        let output = session.tick(at: 45)
        #expect(output.close?.code == .heartbeatMissed)
        #expect(output.happenings == [.closed(0, .heartbeatMissed), .closed(1, .heartbeatMissed)])
        #expect(session.activeNamespaces == 0)
    }

    @Test
    func `senders learn when the server's silence ends the session, without a timer (E08)`() throws {
        var session = SocketIOSession(openTimeout: .seconds(10), now: at(0))
        #expect(session.heartbeatDeadline == nil, "the handshake's deadline is not the heartbeat's")
        _ = session.take(openFrame, at: 1)
        _ = try session.enter(at: 1)
        #expect(session.heartbeatDeadline == at(46))
        #expect(session.nextDeadline == at(11), "CONNECT is due earlier")
        _ = session.take("2", at: 5)
        #expect(session.heartbeatDeadline == at(50))
        _ = session.tick(at: 400)
        #expect(session.heartbeatDeadline == nil)
    }

    @Test
    func `the engine's end is the end of each namespace, whatever its state`() throws {
        var session = try Self.connected("/", "/kicked")
        _ = session.take("41/kicked,")
        _ = try session.enter("/connecting")
        _ = try session.enter("/left")
        var output = SocketIOOutput()
        session.leave(3, reason: LinkspanError(.disconnected, "left"), output: &output)
        output = SocketIOOutput()
        session.streamClosed(LinkspanError(.connectionLost, "reset"), output: &output)
        #expect(output.happenings == [.closed(0, .connectionLost), .closed(2, .connectionLost)])
        #expect(output.close == nil, "the stream is gone already")
        output = SocketIOOutput()
        session.streamClosed(LinkspanError(.connectionLost, "reset"), output: &output)
        #expect(output.isEmpty)
        let error = #expect(throws: LinkspanError.self) { try session.enter("/new") }
        #expect(error?.code == .wrongState)
    }

    @Test
    func `a stream that ends before the handshake fails what was joined`() throws {
        var session = SocketIOSession(openTimeout: .seconds(10), now: at(0))
        _ = try session.enter()
        var output = SocketIOOutput()
        session.streamClosed(LinkspanError(.connectionLost, "reset"), output: &output)
        #expect(output.happenings == [.closed(0, .connectionLost)])
    }

    @Test
    func `a handshake that never comes fails what was joined`() throws {
        var session = SocketIOSession(openTimeout: .seconds(10), now: at(0))
        _ = try session.enter()
        #expect(session.nextDeadline == at(10))
        let output = session.tick(at: 10)
        #expect(output.happenings == [.closed(0, .timedOut)])
        #expect(output.close?.code == .timedOut)
    }

    @Test
    func `many frames of one chunk gather in one output, and frames to send keep their order`() throws {
        var session = SocketIOSession.opened()
        _ = try session.enter("/a")
        _ = try session.enter("/b")
        var output = SocketIOOutput()
        for frame in [#"40/a,{"sid":"s"}"#, "2", #"42/a,["e",1]"#, "44/b", "2"] {
            session.receive(text: bytes(frame), now: at(1), output: &output)
        }
        #expect(output.written == ["3", "3"])
        #expect(
            output.happenings == [
                .opened(0, sid: "s", isContinuous: false), .message(0, "e", "1"), .closed(1, .credentialsRefused),
            ])
        output = SocketIOOutput()
        #expect(output.isEmpty)
    }

    @Test
    func `a message's arguments are a part of the received chunk`() throws {
        var session = try Self.connected("/")
        let chunk = bytes(#"????42["e",{"k":1}]????"#)
        var output = SocketIOOutput()
        session.receive(text: chunk.dropFirst(4).dropLast(4), now: at(1), output: &output)
        guard case .message(let message) = output.deliveries.first?.event else {
            Issue.record("no message")
            return
        }
        #expect(isInside(message.payload.elements, chunk))
    }
}

@Suite("Socket.IO connection state recovery")
struct SocketIORecoveryTests {
    private static let old = SocketIORecovery(pid: "P", offset: RecoveryOffset(latest: "O"))

    @Test
    func `secret and offset are merged into the auth object, whose own members win (S42)`() {
        #expect(text(Self.old.merged(into: [])) == #"{"pid":"P","offset":"O"}"#)
        #expect(text(Self.old.merged(into: bytes("{ }"))) == #"{"pid":"P","offset":"O"}"#)
        #expect(text(Self.old.merged(into: bytes(#"{"t":1}"#))) == #"{"pid":"P","offset":"O","t":1}"#)
        let hostile = SocketIORecovery(pid: "a\"b", offset: RecoveryOffset(latest: "\n"))
        #expect(text(hostile.merged(into: [])) == #"{"pid":"a\"b","offset":"\n"}"#)
    }

    @Test
    func `without an offset nothing can be resumed, so nothing is asked for (S43)`() {
        #expect(SocketIORecovery(pid: "P", offset: RecoveryOffset()).merged(into: bytes("{}")) == bytes("{}"))
    }

    @Test(arguments: [
        (#"1,"Q7xWgm-""#, "Q7xWgm-"), (#""a""#, "a"), (#"{"x":"y"} , "b""#, "b"), ("1", nil), ("", nil),
        (#""""#, nil),
        (#"["a"]"#, nil), (#""a\"b""#, nil), (#""a\\""#, nil), (#"",","x""#, "x"), (#""a\",\"b""#, nil),
    ])
    func `the offset is the last argument when it is a string (S41)`(elements: String, offset: String?) {
        #expect(RecoveryOffset.candidate(in: bytes(elements)) == offset)
    }

    @Test
    func `an offset that is too long is ignored`() {
        for (count, isTaken) in [(256, true), (257, false)] {
            let text = "\"" + String(repeating: "x", count: count) + "\""
            #expect((RecoveryOffset.candidate(in: bytes(text)) != nil) == isTaken)
        }
    }

    @Test
    func `offsets are followed only where the server has recovery, and not for events that want a reply (S40, S43)`()
        throws
    {
        var session = SocketIOSession.opened()
        let index = try session.enter().index
        _ = session.take(#"40{"sid":"s","pid":"P"}"#)
        #expect(session.recovery(of: index)?.offset.latest == nil)
        _ = session.take(#"42["e",1,"one"]"#)
        _ = session.take(#"427["ask","not this"]"#)
        _ = session.take(#"42["e",2]"#)
        let expected = SocketIORecovery(pid: "P", offset: RecoveryOffset(latest: "one"))
        #expect(session.recovery(of: index)?.exported == expected.exported)

        var plain = SocketIOSession.opened()
        _ = try plain.enter()
        _ = plain.take(#"40{"sid":"s"}"#)
        _ = plain.take(#"42["e","one"]"#)
        #expect(plain.recovery(of: 0) == nil)
    }

    @Test(arguments: [true, false])
    func `a quiet namespace is resumed behind its last event, also when it was resumed before`(isResumed: Bool) throws {
        var session = SocketIOSession.opened()
        let first = "1795000000000-0"
        let former = SocketIORecovery(pid: "P", offset: RecoveryOffset(latest: first))
        let index = try session.enter(recovery: isResumed ? former : nil).index
        _ = session.take(#"40{"sid":"s","pid":"P"}"#)
        if !isResumed { _ = session.take("42[\"e\",\"\(first)\"]") }
        for days in [3, 6] {
            let latest = "\(1_795_000_000_000 + days * 86_400_000)-0"
            _ = session.take("42[\"e\",\"\(latest)\"]", at: Double(days * 86_400))
            #expect(session.recovery(of: index)?.offset.latest == latest)
        }
    }

    @Test(arguments: [
        ("1795000000000-0", "1795172800000-0"), ("6568a100f123456789abcdef", "656b4400f123456789abcdef"),
    ])
    func `a text days ahead of the last offset is none, of Redis and MongoDB`(first: String, far: String) throws {
        var session = SocketIOSession.opened()
        let index = try session.enter().index
        _ = session.take(#"40{"sid":"s","pid":"P"}"#)
        for text in [first, far] { _ = session.take("42[\"e\",\"\(text)\"]") }
        #expect(session.recovery(of: index)?.offset.latest == first)
    }

    @Test
    func `the same secret in the answer means that nothing was missed; another one starts anew (S42)`() throws {
        for (pid, isContinuous) in [("P", true), ("N", false)] {
            var session = SocketIOSession.opened()
            let joined = try session.enter(auth: Payload(["t": 1]), recovery: Self.old)
            #expect(joined.written == [#"40{"pid":"P","offset":"O","t":1}"#])
            let output = session.take(#"40{"sid":"s","pid":"\#(pid)"}"#)
            #expect(output.happenings == [.opened(0, sid: "s", isContinuous: isContinuous)])
            #expect(session.recovery(of: 0)?.offset.latest == (isContinuous ? "O" : nil))
        }
    }

    @Test
    func `a secret without an offset resumes nothing, even when the server repeats it`() throws {
        var session = SocketIOSession.opened()
        let joined = try session.enter(recovery: SocketIORecovery(pid: "P", offset: RecoveryOffset()))
        #expect(joined.written == ["40"])
        let output = session.take(#"40{"sid":"s","pid":"P"}"#)
        #expect(output.happenings == [.opened(0, sid: "s", isContinuous: false)])
    }

    @Test
    func `a secret of more than 256 bytes is not kept`() throws {
        for (count, isKept) in [(256, true), (257, false)] {
            var session = SocketIOSession.opened()
            _ = try session.enter()
            _ = session.take(#"40{"sid":"s","pid":"\#(String(repeating: "p", count: count))"}"#)
            #expect((session.recovery(of: 0) != nil) == isKept)
        }
    }

    @Test
    func `recovery survives a loss, but not a farewell of either side (S45)`() throws {
        for (farewell, isKept) in [("", true), ("41", false)] {
            var session = SocketIOSession.opened()
            _ = try session.enter()
            _ = session.take(#"40{"sid":"s","pid":"P"}"#)
            _ = session.take(#"42["e","one"]"#)
            if !farewell.isEmpty { _ = session.take(farewell) }
            var output = SocketIOOutput()
            session.streamClosed(LinkspanError(.connectionLost, "reset"), output: &output)
            #expect((session.recovery(of: 0) != nil) == isKept)
        }
        var session = SocketIOSession.opened()
        _ = try session.enter()
        _ = session.take(#"40{"sid":"s","pid":"P"}"#)
        var output = SocketIOOutput()
        session.leave(0, reason: LinkspanError(.disconnected, "left"), output: &output)
        #expect(session.recovery(of: 0) == nil)
    }

    @Test(arguments: [LinkspanError.Code.protocolViolation, .timedOut, .connectionLost])
    func `a replay that breaks a limit or a deadline is not asked for again, one that is cut off is`(
        code: LinkspanError.Code
    ) throws {
        let limits = SocketIOLimits(maximumEarlyEvents: 2)
        var session = SocketIOSession.opened(limits: limits)
        _ = try session.enter(recovery: Self.old)
        for _ in 0..<2 { _ = session.take(#"42["e","O1"]"#) }
        var output = SocketIOOutput()
        switch code {
        case .protocolViolation: output = session.take(#"42["e","O2"]"#)
        case .timedOut: output = session.tick(at: 10)
        default: session.streamClosed(LinkspanError(code, "reset"), output: &output)
        }
        #expect(output.happenings == [.closed(0, code)])
        #expect(session.recovery(of: 0)?.exported == (code == .connectionLost ? Self.old.exported : nil))
    }

    @Test
    func `a replay whose first message breaks a limit is not asked for again`() throws {
        var session = SocketIOSession.opened()
        _ = try session.enter(recovery: Self.old)
        let big = String(repeating: ",1", count: JSONScanner.maximumValues + 1)
        #expect(session.take("42[\"big\"\(big)]").happenings == [.closed(0, .protocolViolation)])
        #expect(session.recovery(of: 0) == nil)
    }

    @Test
    func `a replay whose first message lacks an attachment at the deadline is not asked for again`() throws {
        var session = SocketIOSession.opened()
        _ = try session.enter(recovery: Self.old)
        #expect(session.take(#"451-["big",{"_placeholder":true,"num":0}]"#).isEmpty)
        #expect(session.tick(at: 10).happenings == [.closed(0, .timedOut)])
        #expect(session.recovery(of: 0) == nil)
    }

    @Test
    func `a deadline without a replay says nothing against the session`() throws {
        var session = SocketIOSession.opened()
        _ = try session.enter(recovery: Self.old)
        #expect(session.tick(at: 10).happenings == [.closed(0, .timedOut)])
        #expect(session.recovery(of: 0)?.exported == Self.old.exported)
    }

    @Test
    func `the secret is never printed`() {
        let recovery = SocketIORecovery(pid: "hunter2", offset: RecoveryOffset(latest: "O"))
        #expect(!"\(recovery)".contains("hunter2"))
        #expect(!String(reflecting: recovery).contains("hunter2"))
    }
}
