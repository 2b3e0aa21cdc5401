internal import Linkspan
internal import Testing

@testable import LinkspanSocketIO

@Suite("Engine.IO session")
struct EngineIOSessionTests {
    private static func open(interval: Int = 25_000, timeout: Int = 20_000) -> EngineIOSession {
        var session = EngineIOSession(now: at(0), timeout: .seconds(10))
        _ = session.receive(text: Self.handshake(interval, timeout), now: at(0))
        return session
    }

    private static func handshake(_ interval: Int, _ timeout: Int) -> ArraySlice<UInt8> {
        bytes(#"0{"sid":"s","upgrades":[],"pingInterval":\#(interval),"pingTimeout":\#(timeout)}"#)
    }

    @Test
    func `the handshake opens the session`() {
        var session = EngineIOSession(now: at(0), timeout: .seconds(10))
        #expect(!session.isOpen)
        guard case .opened(let handshake) = session.receive(text: bytes(openFrame), now: at(1)) else {
            Issue.record("not opened")
            return
        }
        #expect(handshake.sid == "lv_VI97HAXpY6yYWAAAB")
        #expect(session.isOpen)
        #expect(session.nextDeadline == at(46))
    }

    @Test(arguments: ["1", "2", "3", "40", "42[\"a\"]", "5", "6"])
    func `anything but the handshake first ends the session (E04)`(frame: String) {
        var session = EngineIOSession(now: at(0), timeout: .seconds(10))
        #expect(session.receive(text: bytes(frame), now: at(0)).closeCode == .protocolViolation)
        #expect(session.nextDeadline == nil)
    }

    @Test
    func `a binary frame before the handshake ends the session`() {
        var session = EngineIOSession(now: at(0), timeout: .seconds(10))
        #expect(session.receive(binary: [1], now: at(0)).closeCode == .protocolViolation)
    }

    @Test
    func `a handshake that never comes is a timeout, at its deadline and not before`() {
        var session = EngineIOSession(now: at(0), timeout: .seconds(10))
        #expect(session.nextDeadline == at(10))
        #expect(session.timer(now: at(9.999)).error == nil)
        #expect(session.timer(now: at(10)).error?.code == .timedOut)
        #expect(session.timer(now: at(11)).error == nil, "it is told once")
    }

    @Test
    func `a ping is answered at once and moves the deadline; other packets do not (E06)`() {
        var session = Self.open()
        #expect(session.nextDeadline == at(45))
        guard case .answerPong = session.receive(text: bytes("2"), now: at(25)) else {
            Issue.record("no answer to the ping")
            return
        }
        #expect(session.nextDeadline == at(70))
        _ = session.receive(text: bytes("4x"), now: at(60))
        _ = session.receive(binary: [1], now: at(60))
        _ = session.receive(text: bytes("6"), now: at(60))
        _ = session.receive(text: bytes("3"), now: at(60))
        #expect(session.nextDeadline == at(70))
        #expect(session.timer(now: at(69.9)).error == nil)
        #expect(session.timer(now: at(70)).error?.code == .heartbeatMissed)
        #expect(!session.isOpen)
    }

    @Test
    func `whatever was heard moves the deadline, and nothing moves it back`() {
        var session = Self.open()
        session.heard(at: at(30))
        #expect(session.nextDeadline == at(75))
        session.heard(at: at(20))
        #expect(session.nextDeadline == at(75))
        #expect(session.timer(now: at(74.9)).error == nil)
        #expect(session.timer(now: at(75)).error?.code == .heartbeatMissed)
    }

    @Test
    func `a second handshake replaces the timings of the first`() {
        var session = Self.open()
        guard case .nothing = session.receive(text: Self.handshake(1000, 2000), now: at(5)) else {
            Issue.record("a second handshake is not news")
            return
        }
        #expect(session.nextDeadline == at(8))
        _ = session.receive(text: bytes("2"), now: at(6))
        #expect(session.nextDeadline == at(9))
        #expect(session.receive(text: bytes("0{}"), now: at(6)).closeCode == .protocolViolation)
    }

    @Test(arguments: ["3", "3probe", "5", "6", "6x"])
    func `packets out of turn are ignored (E12)`(frame: String) {
        var session = Self.open()
        guard case .nothing = session.receive(text: bytes(frame), now: at(1)) else {
            Issue.record("\(frame) is not ignored")
            return
        }
        #expect(session.isOpen)
    }

    @Test
    func `close from the server ends the session as a loss, so that it is tried again (E10)`() {
        var session = Self.open()
        #expect(session.receive(text: bytes("1"), now: at(1)).closeCode == .connectionLost)
        #expect(session.receive(text: bytes("4x"), now: at(1)).isNothing)
    }

    @Test(arguments: ["", "7", "x"])
    func `an unknown type or an empty frame ends the session (E03)`(frame: String) {
        var session = Self.open()
        #expect(session.receive(text: bytes(frame), now: at(1)).closeCode == .protocolViolation)
    }

    @Test(
        arguments: [
            ("SSH-2.0-OpenSSH_9.2", "SSH-2.0-OpenSSH_9.2"), ("", ""), ("\u{1B}[2J", "\\u{1b}[2J"),
            ("GET /?token=secret", "GET /"),
            (String(repeating: "x", count: 70), String(repeating: "x", count: 40) + "…"),
        ])
    func `a server that does not begin with a handshake is said not to speak Socket.IO, with what it sent`(
        frame: String, quote: String
    ) {
        var session = EngineIOSession(now: at(0), timeout: .seconds(10))
        guard case .close(let error) = session.receive(text: bytes(frame), now: at(1)) else {
            Issue.record("the session goes on")
            return
        }
        #expect(error.code == .protocolViolation)
        #expect(error.message == "the server does not speak Socket.IO: it sent '\(quote)'")
    }

    @Test(arguments: ["2", "3", "6", "5"])
    func `a flood of control packets ends the session (CVE-2026-48802)`(frame: String) {
        var session = Self.open()
        for _ in 0..<EngineIOSession.maximumControlRate {
            #expect(session.receive(text: bytes(frame), now: at(1)).closeCode == nil)
        }
        #expect(session.receive(text: bytes(frame), now: at(1.5)).closeCode == .protocolViolation)
    }

    @Test
    func `as many control packets over a longer time are borne`() {
        var session = Self.open()
        for index in 0..<1000 {
            let receipt = session.receive(text: bytes("2"), now: at(1 + Double(index) / 45))
            #expect(receipt.closeCode == nil)
        }
    }

    @Test
    func `messages are slices of the frame, not copies`() {
        var session = Self.open()
        let frame = bytes("4hello")
        guard case .text(let message) = session.receive(text: frame, now: at(1)) else {
            Issue.record("no message")
            return
        }
        #expect(text(message) == "hello")
        #expect(message.startIndex == frame.startIndex + 1)
        #expect(isInside(message, frame))
    }
}

/// Whether a slice's memory is a part of another's.
func isInside(_ inner: ArraySlice<UInt8>, _ outer: ArraySlice<UInt8>) -> Bool {
    inner.withUnsafeBytes { inner in
        outer.withUnsafeBytes { outer in
            guard let part = inner.baseAddress, let whole = outer.baseAddress else { return false }
            return part >= whole && part + inner.count <= whole + outer.count
        }
    }
}

extension EngineIOSession.Receipt {
    var closeCode: LinkspanError.Code? {
        if case .close(let error) = self { error.code } else { nil }
    }

    var isNothing: Bool {
        if case .nothing = self { true } else { false }
    }
}
