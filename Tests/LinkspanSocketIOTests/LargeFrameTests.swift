internal import Linkspan
internal import Testing

@testable import LinkspanSocketIO

/// A message that is held counts by the bytes of its arguments, so that it must not keep many times as much.
@Suite("Arguments of large frames")
struct LargeFrameTests {
    /// An argument that is not copied for being small when it is held.
    private static let value = "\"\(String(repeating: "x", count: 129 << 10))\""

    /// The payload of a frame that is filled with blanks, and the frame.
    private static func payload(
        _ head: String, blanks: Int, after former: [String] = []
    ) throws -> (payload: Payload, frame: ArraySlice<UInt8>) {
        var session = SocketIOSession.opened()
        _ = try session.enter()
        _ = session.take(#"40{"sid":"x"}"#)
        for frame in former { _ = session.take(frame) }
        let frame = bytes(head + String(repeating: " ", count: blanks) + Self.value + "]")
        var output = SocketIOOutput()
        session.receive(text: frame, now: at(0), output: &output)
        switch output.deliveries.first?.event {
        case .message(let message): return (message.payload, frame)
        case .reply(_, let payload): return (payload, frame)
        default: throw LinkspanError(.protocolViolation, "there is no message: \(output.happenings)")
        }
    }

    /// The beginning of an event, of one like the event before, of one that wants a reply, and of a reply.
    private static let heads: [(String, [String])] = [
        (#"42["x","#, []), (#"42["x","#, [#"42["x",1]"#]), (#"427["x","#, []), ("437[", []),
    ]

    @Test(arguments: Self.heads)
    func `less than half of a large frame is copied`(_ head: String, _ former: [String]) throws {
        let (payload, frame) = try Self.payload(head, blanks: 300 << 10, after: former)
        #expect(text(payload.elements) == Self.value)
        #expect(payload[0]?.string?.utf8.count == 129 << 10)
        #expect(!isInside(payload.elements, frame))
        #expect(!isInside(payload.detached().elements, frame))
    }

    @Test(arguments: Self.heads)
    func `half of a large frame, and any part of another one, stays a part of it`(
        _ head: String, _ former: [String]
    ) throws {
        for blanks in [0, 10 << 10, 128 << 10] {
            let (payload, frame) = try Self.payload(head, blanks: blanks, after: former)
            #expect(text(payload.elements) == Self.value)
            #expect(isInside(payload.elements, frame))
        }
        let (payload, frame) = try Self.payload(head + "0,", blanks: 20 << 10, after: former)
        #expect(isInside(payload.elements, frame))
    }

    @Test
    func `a packet with attachments is no exception`() throws {
        var decoder = SocketIODecoder()
        let placeholder = #"{"_placeholder":true,"num":0}"#
        let blanks = String(repeating: " ", count: 300 << 10)
        let frame = bytes(#"51-["x",\#(blanks)\#(placeholder),\#(Self.value)]"#)
        #expect(try decoder.receive(text: frame) == nil)
        guard case .event(_, let message) = try decoder.receive(binary: [1]) else {
            Issue.record("there is no event")
            return
        }
        #expect(text(message.payload.elements) == "\(placeholder),\(Self.value)")
        #expect(!isInside(message.payload.elements, frame))
    }

    @Test
    func `the data of a refusal is no exception`() throws {
        var session = SocketIOSession.opened()
        _ = try session.enter()
        let frame = bytes("44 \(String(repeating: " ", count: 300 << 10))\(Self.value)")
        var output = SocketIOOutput()
        session.receive(text: frame, now: at(0), output: &output)
        let details = try #require(output.closingError?.details)
        #expect(text(details.elements) == Self.value)
        #expect(!isInside(details.elements, frame))
    }
}
