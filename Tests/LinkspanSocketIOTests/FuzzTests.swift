internal import LinkspanTesting
internal import Linkspan
internal import Testing

@testable import LinkspanSocketIO

/// Seeded, so that a failure comes back with its seed; each input is derived from valid frames and hostile fragments.
@Suite("Hostile input")
struct FuzzTests {
    private static let corpus: [ArraySlice<UInt8>] = [
        openFrame, "1", "2", "2probe", "3", "40", #"40{"sid":"x"}"#, #"40/a,{"sid":"x","pid":"p"}"#, "41", "41/a,",
        #"42["e",1,{"a":[true,null]}]"#, #"42/a,12["n\u0061me","tail"]"#, "43/a,7[1]", "4312[]",
        #"44/a,{"message":"m"}"#,
        #"44"no""#, #"451-["e",{"_placeholder":true,"num":0}]"#, #"462-/a,3[{"_placeholder":true,"num":1}]"#,
        "450-[\"e\"]",
        "6", "5",
    ].map { bytes($0) }

    private static let harmless = Self.corpus.filter { frame in
        !["1", openFrame].contains(text(frame)) && !text(frame).contains("_placeholder") && !text(frame).hasPrefix("44")
            && !text(frame).hasPrefix("41")
    }

    private static let fragments: [ArraySlice<UInt8>] = [
        "connect", "\"disconnect\"", "_placeholder", "\"num\":", "{\"_placeholder\":true,\"num\":", "2147483648",
        "9007199254740993", "9223372036854775808", "18446744073709551616", "-1", "1e400", "[[[[[[[[", "{\"a\":", "]",
        "}", ",",
        "\"", "\\", "\\u", "\\ud800", "/", "/a,", "-", "10-", "0-", "45", "\u{1E}", "\0", "\u{FEFF}",
    ].map { bytes($0) }

    private static func mutated(using generator: inout SeededGenerator) -> [UInt8] {
        guard Int.random(in: 0..<8, using: &generator) > 0 else {
            return (0..<Int.random(in: 0...24, using: &generator)).map { _ in .random(in: 0...255, using: &generator) }
        }
        var frame = Array(Self.corpus.randomElement(using: &generator) ?? [])
        for _ in 0..<Int.random(in: 0...3, using: &generator) where !frame.isEmpty {
            let index = Int.random(in: 0..<frame.count, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: frame[index] = .random(in: 0...255, using: &generator)
            case 1: frame.remove(at: index)
            case 2: frame.removeSubrange(index...)
            case 3: frame.insert(contentsOf: Self.fragments.randomElement(using: &generator) ?? [], at: index)
            case 4: frame.insert(contentsOf: frame[index...], at: index)
            default: frame.swapAt(index, Int.random(in: 0..<frame.count, using: &generator))
            }
        }
        return frame
    }

    private static func valid(using generator: inout SeededGenerator) -> [UInt8] {
        Array(Self.harmless.randomElement(using: &generator) ?? [])
    }

    @Test(.timeLimit(.minutes(1)))
    func `100,000 mutated packets give packets or errors, and what is accepted survives encoding`() throws {
        var generator = SeededGenerator(seed: 1)
        var decoder = SocketIODecoder()
        var accepted = 0
        for _ in 0..<100_000 {
            let frame = Self.mutated(using: &generator)
            let wasCollecting = decoder.isCollecting
            do throws(SocketIOProtocolError) {
                let packet =
                    try Bool.random(using: &generator) || !wasCollecting
                    ? decoder.receive(text: frame.dropFirst()) : decoder.receive(binary: frame[...])
                if let packet {
                    accepted += 1
                    try Self.checkRoundTrip(of: packet)
                }
            } catch {
                if decoder.isCollecting { Issue.record("kept after \(error): \(text(frame))") }
            }
            if decoder.unfinishedBytes > 4096 { Issue.record("\(decoder.unfinishedBytes) bytes are kept") }
        }
        #expect(accepted > 10_000, "the inputs are not all rubbish")
        decoder.reset()
        #expect(try decoder.receive(text: bytes(#"2["still usable"]"#)) != nil)
    }

    @Test(.timeLimit(.minutes(1)))
    func `100,000 mutated frames never trap a session, and its promises to the owner hold`() throws {
        var generator = SeededGenerator(seed: 2)
        var left = 100_000
        var opened = 0
        var messages = 0
        while left > 0 {
            var life = Life()
            var session = SocketIOSession(openTimeout: .seconds(10), now: at(0))
            _ = try session.enter()
            _ = try session.enter("/a")
            if Int.random(in: 0..<10, using: &generator) > 0 { life.note(session.take(openFrame)) }
            var seconds = 0.0
            while left > 0, !life.isOver, life.frames < 500 {
                left -= 1
                seconds += 0.03
                // Mostly valid traffic, or no session would live long enough to get anywhere.
                let isHostile = Int.random(in: 0..<8, using: &generator) == 0
                let frame = isHostile ? Self.mutated(using: &generator) : Self.valid(using: &generator)
                if isHostile, Bool.random(using: &generator) {
                    life.note(session.take(binary: frame, at: seconds))
                } else {
                    var output = SocketIOOutput()
                    session.receive(text: frame[...], now: at(seconds), output: &output)
                    life.note(output)
                }
            }
            #expect(life.isOver == (session.nextDeadline == nil))
            var output = SocketIOOutput()
            session.streamClosed(LinkspanError(.connectionLost, "end"), output: &output)
            life.note(output)
            #expect(life.closed == [0, 1], "each namespace is closed exactly once")
            opened += life.opened.count
            messages += life.messages
        }
        #expect(opened > 1000)
        #expect(messages > 1000)
    }

    private static func checkRoundTrip(of packet: SocketIOPacket) throws(SocketIOProtocolError) {
        var output: [UInt8] = []
        let attachments: [ArraySlice<UInt8>]
        switch packet {
        case .event(let namespace, let message):
            guard let namespace = try? SocketIONamespace(text(namespace)) else { return }
            attachments = message.payload.attachments
            SocketIOEncoder.append(
                event: message.event, message.payload, id: message.replyID, in: namespace, to: &output)
        case .ack(let namespace, let id?, let payload):
            guard let namespace = try? SocketIONamespace(text(namespace)) else { return }
            attachments = payload.attachments
            SocketIOEncoder.append(ack: id, payload, in: namespace, to: &output)
        case .ack, .connect, .connectError, .disconnect:
            return
        }
        var decoder = SocketIODecoder()
        var again = try decoder.receive(text: output.dropFirst())
        for attachment in attachments { again = try decoder.receive(binary: attachment) }
        if again.map(Flat.init) != Flat(packet) { Issue.record("\(Flat(packet)) became \(text(output))") }
    }
}

/// The events of one session's life, checked against what a link promises to the core.
private struct Life {
    var frames = 0
    var messages = 0
    var opened: Set<Int> = []
    var closed: Set<Int> = []
    var isOver = false

    mutating func note(_ output: SocketIOOutput) {
        self.frames += 1
        for delivery in output.deliveries {
            let index = delivery.namespace
            if self.closed.contains(index) { Issue.record("something comes after the end") }
            switch delivery.event {
            case .opened:
                if !self.opened.insert(index).inserted { Issue.record("opened comes twice") }
            case .message, .reply:
                if !self.opened.contains(index) { Issue.record("a message comes before opened") }
                self.messages += 1
            case .closed:
                self.closed.insert(index)
            case .changed, .failed, .writable:
                Issue.record("a session knows nothing of carriers and room")
            }
        }
        if output.close != nil { self.isOver = true }
    }
}
