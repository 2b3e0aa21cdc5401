internal import Linkspan
internal import LinkspanNetwork

internal import LinkspanRuntime
@testable import LinkspanSocketIO

/// An instant counted from an arbitrary one, because the sessions know no clock.
let origin = Moment.now

/// The instant so many seconds after ``origin``.
func at(_ seconds: Double) -> Moment { origin.advanced(by: .seconds(seconds)) }

/// The bytes of a text.
func bytes(_ text: String) -> ArraySlice<UInt8> { Array(text.utf8)[...] }

/// The text of bytes.
func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

/// An Engine.IO handshake as servers send it.
let openFrame =
    #"0{"sid":"lv_VI97HAXpY6yYWAAAB","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#

/// A packet taken apart into what tests compare.
struct Flat: Equatable, CustomStringConvertible {
    var kind: String
    var namespace = ""
    var event = ""
    var id: UInt64?
    var elements = ""
    var attachments: [[UInt8]] = []

    init(
        _ kind: String, _ namespace: String = "", event: String = "", id: UInt64? = nil, _ elements: String = "",
        attachments: [[UInt8]] = []
    ) {
        self.kind = kind
        self.namespace = namespace
        self.event = event
        self.id = id
        self.elements = elements
        self.attachments = attachments
    }

    init(_ packet: SocketIOPacket) {
        switch packet {
        case .connect(let namespace, let payload):
            self.init("connect", text(namespace), text(payload.elements))
        case .disconnect(let namespace):
            self.init("disconnect", text(namespace))
        case .event(let namespace, let message):
            self.init(
                "event", text(namespace), event: message.event, id: message.replyID, text(message.payload.elements),
                attachments: message.payload.attachments.map { Array($0) })
        case .ack(let namespace, let id, let payload):
            self.init(
                "ack", text(namespace), id: id, text(payload.elements),
                attachments: payload.attachments.map { Array($0) })
        case .connectError(let namespace, let payload):
            self.init("connectError", text(namespace), text(payload.elements))
        }
    }

    var description: String {
        "\(self.kind) \(self.namespace) \(self.event) \(self.id.map { "\($0)" } ?? "-") \(self.elements) \(self.attachments)"
    }
}

/// What becomes of a text packet in a new decoder.
enum Verdict: Equatable, CustomStringConvertible {
    case packet(Flat)
    case nothing
    case awaitsAttachments
    case refused(SocketIOProtocolError.Code)

    init(_ text: String) {
        var decoder = SocketIODecoder()
        do throws(SocketIOProtocolError) {
            if let packet = try decoder.receive(text: bytes(text)) {
                self = .packet(Flat(packet))
            } else {
                self = decoder.isCollecting ? .awaitsAttachments : .nothing
            }
        } catch {
            self = .refused(error.code)
        }
    }

    var description: String {
        switch self {
        case .packet(let packet): "packet(\(packet))"
        case .nothing: "nothing"
        case .awaitsAttachments: "awaitsAttachments"
        case .refused(let code): "refused(\(code))"
        }
    }
}

/// A link's event taken apart into what tests compare.
enum Happening: Equatable {
    case opened(Int, sid: String?, isContinuous: Bool)
    case message(Int, String, String)
    case reply(Int, UInt64, String)
    case changed(Int)
    case writable(Int)
    case closed(Int, LinkspanError.Code)

    init(_ delivery: Delivery) {
        let index = delivery.namespace
        switch delivery.event {
        case .opened(let info): self = .opened(index, sid: info.sessionID, isContinuous: info.isContinuous)
        case .message(let message): self = .message(index, message.event, text(message.payload.elements))
        case .reply(let id, let payload): self = .reply(index, id, text(payload.elements))
        // No session says that.
        case .failed(_, let error): self = .closed(index, error.code)
        case .changed: self = .changed(index)
        case .writable: self = .writable(index)
        case .closed(let error): self = .closed(index, error.code)
        }
    }
}

/// An event of one namespace.
struct Delivery {
    var namespace: Int
    var event: LinkEvent
}

extension SocketIOOutput {
    /// The events, each by itself.
    var deliveries: [Delivery] {
        var (rest, deliveries): (SocketIOOutput, [Delivery]) = (self, [])
        while let namespace = rest.nextNamespace, let event = rest.takeEvent(of: namespace) {
            deliveries.append(Delivery(namespace: namespace, event: event))
        }
        return deliveries
    }
    /// The deliveries, to compare.
    var happenings: [Happening] { self.deliveries.map(Happening.init) }
    /// The frames, to compare.
    var written: [String] { self.frames.joined().map { text($0.bytes) } }

    /// The error of the first closing event.
    var closingError: LinkspanError? {
        for delivery in self.deliveries {
            if case .closed(let error) = delivery.event { return error }
        }
        return nil
    }
}

extension SocketIOSession {
    /// A session whose engine is open.
    static func opened(limits: SocketIOLimits = .usual) -> Self {
        var session = Self(limits: limits, openTimeout: .seconds(10), now: at(0))
        _ = session.take(openFrame)
        return session
    }

    /// Takes a text frame and returns what follows from it.
    mutating func take(_ frame: String, at seconds: Double = 0) -> SocketIOOutput {
        var output = SocketIOOutput()
        self.receive(text: bytes(frame), now: at(seconds), output: &output)
        return output
    }

    /// Takes a binary frame and returns what follows from it.
    mutating func take(binary: [UInt8], at seconds: Double = 0) -> SocketIOOutput {
        var output = SocketIOOutput()
        self.receive(binary: binary[...], now: at(seconds), output: &output)
        return output
    }

    /// Joins a namespace and returns its index and what was written.
    mutating func enter(
        _ name: String = "/", auth: Payload? = nil, recovery: SocketIORecovery? = nil, at seconds: Double = 0
    ) throws -> (index: Int, written: [String]) {
        var output = SocketIOOutput()
        let index = try self.join(
            SocketIONamespace(name), auth: auth, recovery: recovery, now: at(seconds), output: &output)
        return (index, output.written)
    }

    /// Lets time pass and returns what follows from it.
    mutating func tick(at seconds: Double) -> SocketIOOutput {
        var output = SocketIOOutput()
        self.timer(now: at(seconds), output: &output)
        return output
    }
}

extension Heartbeat.TimerOutcome {
    /// Why the session is over; nil when it is not.
    var error: LinkspanError? {
        if case .end(let error) = self { error } else { nil }
    }
}
