internal import Linkspan
internal import LinkspanWebSocketProtocol

/// The server's values in its open packet (engine.io-protocol §"Handshake").
///
/// A value of a wrong type, or a missing one, is a typed error. A number that makes no sense is clamped instead: it
/// says only how patient to be, and no server is worth refusing for that.
struct EngineIOHandshake: Sendable, Hashable {
    /// The shortest and longest heartbeat intervals that are believed.
    static let intervals: ClosedRange<Duration> = .seconds(1) ... .seconds(600)
    /// The shortest and longest heartbeat grace periods that are believed.
    static let timeouts: ClosedRange<Duration> = .seconds(1) ... .seconds(300)
    /// The smallest and largest limits of a message that are believed.
    static let payloads: ClosedRange<Int> = 1...1 << 30
    /// The longest session id.
    ///
    /// It goes into URLs and logs, so its characters are checked as well.
    static let maximumSIDLength = 128

    /// The server's name for the session.
    var sid: String
    /// The transports the session could change to; unknown ones are left out.
    var upgrades: [String]
    /// The time between two pings of the server.
    var pingInterval: Duration
    /// The time that a ping may be late.
    var pingTimeout: Duration
    /// The size of the largest message that the server accepts, in bytes.
    ///
    /// Nil when the handshake has no `maxPayload` (servers before 4.5), or has `null`, which stands for no limit.
    var maxPayload: Int?

    /// The time that the server may be silent.
    var patience: Duration { self.pingInterval + self.pingTimeout }

    /// Reads the JSON of an open packet.
    init(json: ArraySlice<UInt8>) throws(SocketIOProtocolError) {
        let payload: Payload
        do throws(JSONScanError) {
            payload = try Payload(scanning: json)
        } catch {
            let sentence = error.sentence(about: "the Engine.IO handshake")
            throw SocketIOProtocolError(.badHandshake, sentence, cause: error)
        }
        guard let object = payload[0], payload[1] == nil, object.text.first == UInt8(ascii: "{") else {
            throw Self.bad("is not an object")
        }
        guard let sid = object["sid"]?.string else { throw Self.bad("has no sid") }
        guard Self.isSID(sid) else {
            throw Self.bad(
                "has an invalid sid: expected 1 to \(Self.maximumSIDLength) letters, digits or -._~:@=+")
        }
        self.sid = sid
        self.upgrades = try Self.upgrades(object["upgrades"])
        self.pingInterval = try Self.duration(object["pingInterval"], "pingInterval", within: Self.intervals)
        self.pingTimeout = try Self.duration(object["pingTimeout"], "pingTimeout", within: Self.timeouts)
        self.maxPayload = try Self.limit(object["maxPayload"])
    }

    private static func upgrades(_ value: PayloadValue?) throws(SocketIOProtocolError) -> [String] {
        guard let value else { return [] }
        guard let elements = value.elements else { throw Self.bad("has upgrades that are not an array") }
        return elements.compactMap(\.string).filter { $0 == "websocket" || $0 == "webtransport" }
    }

    /// Reads `maxPayload`; nil for no limit.
    ///
    /// Zero and negative numbers count as no limit: a server that accepts no bytes would be useless.
    private static func limit(_ value: PayloadValue?) throws(SocketIOProtocolError) -> Int? {
        guard let value, !value.isNull else { return nil }
        guard let bytes = value.double else { throw Self.bad("has a maxPayload that is no number") }
        guard bytes > 0 else { return nil }
        return Int(min(max(bytes, Double(Self.payloads.lowerBound)), Double(Self.payloads.upperBound)))
    }

    private static func duration(
        _ value: PayloadValue?, _ name: StaticString, within range: ClosedRange<Duration>
    ) throws(SocketIOProtocolError) -> Duration {
        guard let milliseconds = value?.double else { throw Self.bad("has no number \(name)") }
        let most = Double(range.upperBound.components.seconds) * 1000
        let least = Double(range.lowerBound.components.seconds) * 1000
        return .milliseconds(Int(min(max(milliseconds, least), most)))
    }

    /// Servers may make ids of their own, such as `custom:id:1`.
    private static func isSID(_ text: String) -> Bool {
        (1...Self.maximumSIDLength).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isAlphanumeric || "-._~:@=+".utf8.contains($0) }
    }

    private static func bad(_ why: String) -> SocketIOProtocolError {
        SocketIOProtocolError(.badHandshake, "the Engine.IO handshake \(why)")
    }
}
