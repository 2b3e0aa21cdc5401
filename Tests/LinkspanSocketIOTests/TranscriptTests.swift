internal import Linkspan
internal import Testing

@testable import LinkspanSocketIO

@Suite("Recorded conversations")
struct TranscriptTests {
    static let all = Transcript.official + Transcript.python

    @Test("our session writes what the official client wrote, byte for byte", arguments: Self.all)
    func replay(transcript: Transcript) throws {
        var replay = Replay(transcript)
        try replay.run()
        #expect(replay.session.handshake != nil)
        #expect(replay.unmatched.isEmpty, "we wrote what the official client did not")
    }

    @Test("each packet is the same after decoding and encoding", arguments: Self.all)
    func roundTrip(transcript: Transcript) throws {
        for isFromServer in [true, false] {
            let lines = transcript.lines.filter { $0.isFromServer == isFromServer }
            var decoder = SocketIODecoder()
            var header: [UInt8] = []
            for line in lines where line.isBinary || line.bytes.first == UInt8(ascii: "4") {
                let packet: SocketIOPacket?
                if line.isBinary {
                    packet = try decoder.receive(binary: line.bytes[...])
                } else {
                    header = line.bytes
                    packet = try decoder.receive(text: line.bytes.dropFirst())
                }
                guard let packet, let (encoded, attachments) = try Self.encode(packet) else { continue }
                #expect(text(encoded) == text(header))
                if line.isBinary { #expect(attachments.last == line.bytes[...]) }
            }
            #expect(!decoder.isCollecting)
        }
    }

    @Test("connection state recovery is resumed with the offset of the last event")
    func recovery() throws {
        let all = Self.all.filter { $0.name.contains("resumed") }
        try #require(all.count == 2)
        var first = Replay(all[0])
        try first.run()
        var output = SocketIOOutput()
        first.session.streamClosed(LinkspanError(.connectionLost, "cut"), output: &output)
        #expect(first.session.recovery(of: 0)?.offset.latest == "Q7xWgm-")
        var second = Replay(all[1])
        second.recovery = first.session.recovery(of: 0)
        try second.run()
        // The missed events came before the answer to CONNECT, and are delivered after `opened`.
        #expect(second.happenings.first == .opened(0, sid: "8sWzXN-PHlBpCxFyAAAA", isContinuous: true))
        #expect(
            second.happenings.dropFirst().prefix(4).count(where: { if case .message = $0 { true } else { false } }) == 4
        )
    }

    @Test("a server of Socket.IO v2 is named as such")
    func version() throws {
        let transcript = try #require(Self.all.first { $0.name.contains("v2 server") })
        var session = SocketIOSession(openTimeout: .seconds(10), now: at(0))
        _ = try session.enter()
        _ = session.take(transcript.lines[0].text)
        let output = session.take(transcript.lines[1].text)
        let error = try #require(output.closingError)
        #expect(error.code == .unsupportedVersion)
        #expect(error.message.contains("v2"))
    }

    /// Writes a packet; nil for those that only servers send.
    private static func encode(_ packet: SocketIOPacket) throws -> ([UInt8], [ArraySlice<UInt8>])? {
        var output: [UInt8] = []
        var attachments: [ArraySlice<UInt8>] = []
        switch packet {
        case .connect(let namespace, let payload):
            SocketIOEncoder.append(connect: payload.elements, in: try Self.name(namespace), to: &output)
        case .disconnect(let namespace):
            SocketIOEncoder.append(disconnectIn: try Self.name(namespace), to: &output)
        case .event(let namespace, let message):
            attachments = SocketIOEncoder.append(
                event: message.event, message.payload, id: message.replyID, in: try Self.name(namespace), to: &output)
        case .ack(let namespace, let id, let payload):
            attachments = SocketIOEncoder.append(
                ack: try #require(id), payload, in: try Self.name(namespace), to: &output)
        case .connectError:
            return nil
        }
        return (output, attachments)
    }

    private static func name(_ written: ArraySlice<UInt8>) throws -> SocketIONamespace {
        try SocketIONamespace(text(written))
    }
}

/// Plays the server's lines to a session and compares what the session writes with the client's lines.
private struct Replay {
    var session = SocketIOSession(openTimeout: .seconds(10), now: at(0))
    var recovery: SocketIORecovery?
    /// What the session has written and the transcript's client has not yet.
    var unmatched: [String] = []
    var happenings: [Happening] = []
    private let transcript: Transcript
    private var indexes: [String: Int] = [:]
    private var isOver = false

    init(_ transcript: Transcript) { self.transcript = transcript }

    mutating func run() throws {
        for line in self.transcript.lines {
            var output = SocketIOOutput()
            if line.isFromServer {
                if line.isBinary {
                    self.session.receive(binary: line.bytes[...], now: at(0), output: &output)
                } else {
                    self.session.receive(text: line.bytes[...], now: at(0), output: &output)
                }
            } else if !line.isBinary, !self.isOver {
                try self.act(as: line.text, output: &output)
            }
            self.note(output)
        }
        if !self.transcript.answersPings { self.unmatched.removeAll { $0 == "3" } }
    }

    private mutating func act(as frame: String, output: inout SocketIOOutput) throws {
        var decoder = SocketIODecoder()
        let packet = frame.hasPrefix("4") ? try decoder.receive(text: bytes(String(frame.dropFirst()))) : nil
        switch packet {
        case .connect(let namespace, let auth):
            let index = try self.session.join(
                SocketIONamespace(text(namespace)), auth: self.recovery == nil ? auth : nil, recovery: self.recovery,
                now: at(0), output: &output)
            self.indexes[text(namespace)] = index
        case .disconnect(let namespace):
            let index = try #require(self.indexes[text(namespace)])
            self.session.leave(index, reason: LinkspanError(.disconnected, "left"), output: &output)
        case .event(let namespace, _), .ack(let namespace, _, _):
            let index = try #require(self.indexes[text(namespace)])
            #expect(self.session.isConnected(index))
            return
        case .connectError, nil:
            guard frame == "3" else { return }
        }
        self.note(output)
        output.removeAll()
        let first = try #require(self.unmatched.first, "we did not write \(frame)")
        #expect(first == frame)
        self.unmatched.removeFirst()
    }

    private mutating func note(_ output: SocketIOOutput) {
        self.unmatched += output.written
        self.happenings += output.happenings
        if output.close != nil { self.isOver = true }
    }
}
