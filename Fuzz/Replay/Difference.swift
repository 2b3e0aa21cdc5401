@testable internal import LinkspanSocketIO

/// Where we deliberately see a packet otherwise than python-socketio's decoder, and why.
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
