internal import Linkspan

@testable import LinkspanSocketIO

/// What a namespace's owner learns, as packets say it on the wire.
enum Outcome: Equatable {
    case opened(String, sid: String?, isContinuous: Bool)
    /// An event as its array is written, name included.
    case message(String, json: String, id: UInt64?, attachments: [[UInt8]])
    case reply(String, id: UInt64?, json: String, attachments: [[UInt8]])
    /// The end; with the server's own words when it is a refusal.
    case closed(String, LinkspanError.Code, details: String?)

    init(_ event: LinkEvent, in namespace: String) {
        switch event {
        case .opened(let info): self = .opened(namespace, sid: info.sessionID, isContinuous: info.isContinuous)
        case .message(let message):
            let rest = message.payload.elements.isEmpty ? "" : ",\(text(message.payload.elements))"
            self = .message(
                namespace, json: "[\"\(message.event)\"\(rest)]", id: message.replyID,
                attachments: message.payload.attachments.map { Array($0) })
        case .reply(let id, let payload):
            self = .reply(
                namespace, id: id, json: "[\(text(payload.elements))]",
                attachments: payload.attachments.map { Array($0) })
        // No session says these.
        case .changed: self = .opened("changed", sid: nil, isContinuous: false)
        case .failed: self = .opened("failed", sid: nil, isContinuous: false)
        case .writable: self = .opened("writable", sid: nil, isContinuous: false)
        case .closed(let error):
            self = .closed(namespace, error.code, details: error.details.map { text($0.elements) })
        }
    }
}

/// A packet taken apart by other means than ours.
///
/// It believes what it reads, so it is for recorded packets only.
struct Foreign {
    var type: Character
    var attachments = 0
    var namespace = "/"
    var query: String?
    var id: UInt64?
    var json: String

    /// Reads an Engine.IO message; nil for other Engine.IO packets.
    init?(_ frame: String) {
        guard frame.first == "4", let type = frame.dropFirst().first else { return nil }
        self.type = type
        var rest = frame.dropFirst(2)
        if "56".contains(type), let dash = rest.firstIndex(of: "-") {
            self.attachments = Int(rest[..<dash]) ?? 0
            rest = rest[dash...].dropFirst()
        }
        if rest.first == "/" {
            let written = rest.prefix { $0 != "," }
            let parts = written.split(separator: "?", maxSplits: 1)
            self.namespace = String(parts[0])
            self.query = parts.count == 2 ? String(parts[1]) : nil
            rest = rest.dropFirst(written.count + 1)
        }
        let digits = rest.prefix(while: \.isNumber)
        self.id = UInt64(digits)
        self.json = String(rest.dropFirst(digits.count))
    }

    /// A member of an object.
    static func string(_ name: String, in json: String) -> String? {
        guard case .object(let members)? = try? JSON(json), case .string(let text)? = members[name] else { return nil }
        return text
    }
}

/// What the owners of namespaces have to be told, from the packets alone.
///
/// Each packet of the server for a joined namespace counts exactly once, in order; what comes before the answer to
/// CONNECT is told after `opened`; what comes for a namespace that was left, or never joined, is not told.
struct ExpectedOutcomes {
    private struct Namespace {
        var name: String
        /// The session that is asked to go on.
        var pid: String?
        var isOpen = false
        var isOver = false
        var early: [Outcome] = []
    }

    let version: EngineIOVersion
    private(set) var all: [Outcome] = []
    private var namespaces: [Namespace] = []
    private var half: (packet: Foreign, attachments: [[UInt8]])?
    private var engineID = ""
    private var isOver = false

    init(version: EngineIOVersion) { self.version = version }

    mutating func join(_ name: String, pid: String?) { self.namespaces.append(Namespace(name: name, pid: pid)) }

    mutating func leave(_ name: String) { self.end(name, .disconnected) }

    /// The whole session ends.
    mutating func end(_ code: LinkspanError.Code) {
        for namespace in self.namespaces { self.end(namespace.name, code) }
        self.isOver = true
    }

    mutating func receive(binary: [UInt8]) {
        guard var half = self.half else { return }
        half.attachments.append(binary)
        self.half = half
        self.finishIfComplete()
    }

    mutating func receive(_ frame: String) {
        guard !self.isOver else { return }
        if frame.first == "0" { self.engineID = Foreign.string("sid", in: String(frame.dropFirst())) ?? "" }
        if frame.first == "1" { self.end(.connectionLost) }
        guard let packet = Foreign(frame) else { return }
        self.half = (packet, [])
        self.finishIfComplete()
    }

    private mutating func finishIfComplete() {
        guard let (packet, attachments) = self.half, attachments.count == packet.attachments else { return }
        self.half = nil
        guard let index = self.namespaces.firstIndex(where: { $0.name == packet.namespace && !$0.isOver }) else {
            return
        }
        let name = packet.namespace
        switch packet.type {
        case "0": self.open(index, packet.json)
        case "1": self.end(name, .closedByServer)
        case "2", "5":
            self.tell(.message(name, json: packet.json, id: packet.id, attachments: attachments), index)
        case "3", "6":
            self.tell(.reply(name, id: packet.id, json: packet.json, attachments: attachments), index)
        case "4":
            let isUnknown = packet.json.contains("Invalid namespace") || packet.json.contains("Unable to connect")
            self.end(name, isUnknown ? .refused : .credentialsRefused, details: packet.json)
        default: ()
        }
    }

    private mutating func open(_ index: Int, _ json: String) {
        let name = self.namespaces[index].name
        var sid = Foreign.string("sid", in: json)
        if self.version == .v3 { sid = name == "/" ? self.engineID : "\(name)#\(self.engineID)" }
        guard let sid else { return self.end(name, .unsupportedVersion) }
        let pid = self.namespaces[index].pid
        let isContinuous = pid != nil && Foreign.string("pid", in: json) == pid
        self.all.append(.opened(name, sid: sid, isContinuous: isContinuous))
        self.all += self.namespaces[index].early
        self.namespaces[index].isOpen = true
    }

    private mutating func tell(_ outcome: Outcome, _ index: Int) {
        if self.namespaces[index].isOpen {
            self.all.append(outcome)
        } else {
            self.namespaces[index].early.append(outcome)
        }
    }

    private mutating func end(_ name: String, _ code: LinkspanError.Code, details: String? = nil) {
        guard let index = self.namespaces.firstIndex(where: { $0.name == name && !$0.isOver }) else { return }
        self.namespaces[index].isOver = true
        self.all.append(.closed(name, code, details: details))
    }
}
