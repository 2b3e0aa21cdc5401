internal import Foundation
internal import Linkspan
internal import Testing

@testable internal import LinkspanSocketIO

/// Our verdict on packets beside that of python-socketio, the server most of the other tests run against.
@Suite("Beside python-socketio")
struct DifferentialTests {
    @Test(.timeLimit(.minutes(5)))
    func `packets that both accept mean the same, and every other difference has a reason`() throws {
        // Longer on demand: DIFFERENTIAL_COUNT=1000000 DIFFERENTIAL_SEED=2 swift test --filter DifferentialTests.
        let environment = ProcessInfo.processInfo.environment
        let verdicts = try Self.verdicts(
            count: environment["DIFFERENTIAL_COUNT"] ?? "20000", seed: environment["DIFFERENTIAL_SEED"] ?? "1")
        var agreements = (accepted: 0, refused: 0)
        var differences: [Difference: Int] = [:]
        for theirs in verdicts {
            let ours = OwnVerdict(theirs.packet)
            switch (ours, theirs.isRefused) {
            case (.refused, true):
                agreements.refused += 1
            case (.accepted(let packet), false) where packet.means(theirs):
                agreements.accepted += 1
            default:
                if let difference = Difference(ours, theirs) {
                    differences[difference, default: 0] += 1
                } else {
                    Issue.record("\(ours) beside \(theirs) for \(theirs.packet.debugDescription)")
                }
            }
        }
        #expect(agreements.accepted > verdicts.count / 5, "the packets are not all rubbish")
        #expect(agreements.refused > verdicts.count / 5, "the packets are not all good")
        print("both accept \(agreements.accepted), both refuse \(agreements.refused); deliberate differences:")
        for (difference, count) in differences.sorted(by: { $0.value > $1.value }) {
            print("  \(count) \(difference.rawValue)")
        }
    }

    /// Runs the script and returns what it says.
    private static func verdicts(count: String, seed: String) throws -> [TheirVerdict] {
        let fuzz = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let venv =
            ProcessInfo.processInfo.environment["TEST_VENV"]
            ?? fuzz.deletingLastPathComponent().appendingPathComponent(".venv").path
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "\(venv)/bin/python")
        process.arguments = [fuzz.appendingPathComponent("differential.py").path, "--count", count, "--seed", seed]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let decoder = JSONDecoder()
        let verdicts = try data.split(separator: UInt8(ascii: "\n")).map {
            try decoder.decode(TheirVerdict.self, from: $0)
        }
        #expect(verdicts.count == Int(count))
        return verdicts
    }
}

/// What python-socketio makes of a packet.
struct TheirVerdict: Decodable, CustomStringConvertible {
    var packet: String
    var refused: String?
    var type: Int?
    var namespace: String?
    var id: String?
    var attachments: Int?
    var data: String?

    var isRefused: Bool { self.refused != nil }

    /// The data, unless it has something that is no JSON: Python writes infinite numbers.
    var json: ReferenceJSON? { (try? ReferenceJSON.elements(Array((self.data ?? "null").utf8)))?.first }

    var description: String {
        self.refused
            ?? "\(self.type ?? -1) \(self.namespace ?? "") \(self.id ?? "-") \(self.attachments ?? 0) \(self.data ?? "")"
    }
}

/// What we make of a packet.
enum OwnVerdict: CustomStringConvertible {
    case accepted(OwnPacket)
    case refused(SocketIOProtocolError.Code)

    init(_ text: String) {
        var decoder = SocketIODecoder()
        do throws(SocketIOProtocolError) {
            var packet = try decoder.receive(text: Array(text.utf8)[...])
            var count = 0
            while decoder.isCollecting {
                packet = try decoder.receive(binary: [UInt8(count)])
                count += 1
            }
            self = .accepted(OwnPacket(packet: packet.map(FlatPacket.init), attachments: count))
        } catch {
            self = .refused(error.code)
        }
    }

    var description: String {
        switch self {
        case .accepted(let packet): "\(packet)"
        case .refused(let code): "refused (\(code))"
        }
    }
}

/// A packet that we accept; nil for an event without even a name, which is dropped.
struct OwnPacket {
    var packet: FlatPacket?
    var attachments: Int

    /// Whether it says the same as theirs.
    func means(_ theirs: TheirVerdict) -> Bool {
        guard let packet = self.packet else { return theirs.type == 2 || theirs.type == 5 }
        let types = ["connect": [0], "disconnect": [1], "event": [2, 5], "ack": [3, 6], "connectError": [4]]
        let namespace = packet.namespace.isEmpty ? "/" : FuzzInput.text(packet.namespace)
        guard types[packet.kind]?.contains(theirs.type ?? -1) ?? false, self.attachments == theirs.attachments else {
            return false
        }
        // Theirs drops the query that servers of Socket.IO v2 had in a namespace.
        guard namespace.prefix(while: { $0 != "?" }) == theirs.namespace ?? "" else { return false }
        // An id means something to events and acknowledgements only.
        if packet.event != nil || packet.kind == "ack" {
            guard packet.id == theirs.id.flatMap(UInt64.init) else { return false }
        }
        guard let json = theirs.json else { return false }
        return self.json(packet).isSame(as: json)
    }

    private func json(_ packet: FlatPacket) -> ReferenceJSON {
        let arguments = ((try? ReferenceJSON.elements(packet.elements)) ?? []).map { value in
            self.attachments == 0 ? value : value.withBlobs
        }
        switch packet.kind {
        case "event":
            // The name was a number, or the same as a string.
            return .array([.string(packet.event ?? "")] + arguments)
        case "ack": return packet.elements.isEmpty ? .array([]) : .array(arguments)
        default: return arguments.first ?? .null
        }
    }
}

extension ReferenceJSON {
    /// The same with each placeholder replaced by the mark that the script gives to blobs.
    fileprivate var withBlobs: Self {
        switch self {
        case .null, .bool, .number, .string: return self
        case .array(let elements): return .array(elements.map(\.withBlobs))
        case .object(let members):
            var flag = false
            var index: Self?
            for member in members {
                if member.key == "_placeholder", case .bool(true) = member.value { flag = true }
                if member.key == "num" { index = member.value }
            }
            if flag, let index { return .object([("__bytes__", index)]) }
            return .object(members.map { ($0.key, $0.value.withBlobs) })
        }
    }

    /// Whether two values are the same to Python: numbers by value, of repeated keys the last.
    fileprivate func isSame(as other: Self) -> Bool {
        switch (self, other) {
        case (.null, .null): return true
        case (.bool(let one), .bool(let other)): return one == other
        case (.number(let one), .number(let other)): return one == other || Double(one) == Double(other)
        case (.string(let one), .string(let other)): return one == other
        // A name that is a number: ours are its digits.
        case (.string(let one), .number(let other)): return Double(one) == Double(other)
        case (.array(let one), .array(let other)):
            return one.count == other.count && zip(one, other).allSatisfy { $0.isSame(as: $1) }
        // An acknowledgement without data has no arguments.
        case (.array(let one), .null): return one.isEmpty
        case (.object(let one), .object(let other)):
            let mine = Dictionary(one.map { ($0.key, $0.value) }) { $1 }
            let theirs = Dictionary(other.map { ($0.key, $0.value) }) { $1 }
            return mine.count == theirs.count
                && mine.allSatisfy { key, value in theirs[key].map { value.isSame(as: $0) } ?? false }
        default: return false
        }
    }
}

/// The packets that we read differently from python-socketio on purpose, and the reasons.
enum Difference: String {
    // MARK: We refuse what it accepts

    /// Its decoder takes any digit for a type and lets a table fail later, and an empty text for an event.
    case unknownType = "an unknown type, or none"
    /// Its decoder leaves the shape to the handlers behind it; ours hands on only what they can use.
    case shape = "a payload whose shape does not fit the type"
    /// Both reference implementations of the client refuse these names; Python's server never sees them.
    case reservedName = "a reserved event name"
    /// The official server and client close the connection above ten (CVE-2026-33151).
    case manyAttachments = "more than ten attachments"
    /// A binary type without a count, or a count with leading zeros: no peer writes it.
    case malformedCount = "a malformed count of attachments"
    /// A count on a plain type: Python's decoder looks for a dash whatever the type is.
    case countOnPlainType = "a count of attachments on a plain type"
    /// Python takes `-1` and `true` for an index, and any true value for the mark.
    case oddPlaceholder = "a placeholder that only Python can follow"
    /// Attachments for a packet that has no data to hold them.
    case attachmentsWithoutData = "attachments without a payload"
    /// Python's `json` accepts `NaN` and `Infinity`; RFC 8259 has neither.
    case notANumber = "NaN or Infinity"
    /// Deeper than 64 costs recursive decoders their stack.
    case depth = "nested deeper than 64"
    /// An id that does not fit 64 bits cannot be answered exactly by other implementations.
    case hugeID = "an acknowledgement id beyond 64 bits"
    /// Digits of other scripts: `isdigit` is true for them.
    case foreignDigits = "digits outside ASCII"

    // MARK: We accept what it refuses, or read it otherwise

    /// Python refuses integers of more than 100 digits; to us a number is text until someone asks for it.
    case longNumber = "a number that Python cannot hold"
    /// Of repeated keys the first counts for us and the last for Python, which matters for placeholders only.
    case repeatedKeys = "repeated keys in a placeholder"

    init?(_ ours: OwnVerdict, _ theirs: TheirVerdict) {
        let text = theirs.packet
        switch ours {
        case .refused(let code):
            guard !theirs.isRefused else { return nil }
            self.init(refused: code, text, theirs)
        case .accepted(let packet):
            let isLong = text.split { !$0.isNumber }.contains { $0.count > 100 }
            if isLong || theirs.data?.contains("Infinity") ?? false {
                self = .longNumber
            } else if packet.attachments > 0, text.contains("_placeholder") {
                self = .oddPlaceholder
            } else if text.unicodeScalars.contains(where: { "٣²".unicodeScalars.contains($0) }) {
                self = .foreignDigits
            } else {
                return nil
            }
        }
    }

    private init?(refused code: SocketIOProtocolError.Code, _ text: String, _ theirs: TheirVerdict) {
        let isPlain = !["5", "6"].contains(text.first)
        let hasForeignDigits = text.unicodeScalars.contains { "٣²".unicodeScalars.contains($0) }
        switch code {
        case .unknownType: self = hasForeignDigits ? .foreignDigits : .unknownType
        case .badPayload: self = .shape
        case .reservedEvent: self = .reservedName
        case .badAckID: self = .hugeID
        case .badAttachments where (theirs.attachments ?? 0) > 10: self = .manyAttachments
        case .badAttachments where theirs.attachments == 0: self = .malformedCount
        case .badAttachments where theirs.data == "null": self = .attachmentsWithoutData
        case .badAttachments where text.dropFirst().first == "0": self = .malformedCount
        case .badAttachments where text.contains("placeholder"): self = .oddPlaceholder
        case .badJSON where isPlain && (theirs.attachments ?? 0) > 0: self = .countOnPlainType
        case .badJSON where isPlain && text.contains("0-"): self = .countOnPlainType
        case .badJSON where text.contains("NaN") || text.contains("Infinity"): self = .notANumber
        case .badJSON where text.count { $0 == "[" || $0 == "{" } > 64: self = .depth
        case .badJSON where hasForeignDigits: self = .foreignDigits
        default: return nil
        }
    }
}
