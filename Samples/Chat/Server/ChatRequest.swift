import Linkspan

/// What a person asks for: the payloads of PROTOCOL.md, checked.
enum ChatRequest: Sendable {
    /// Why something is refused.
    struct Problem: Error, Sendable, Hashable {
        var code: String
        var message: String

        init(_ code: String, _ message: String) {
            self.code = code
            self.message = message
        }
    }

    case join(room: String, seen: ChatVocabulary.Seen?)
    case leave(room: String)
    case say(room: String, text: String, id: String)
    case who(room: String)
    case typing(room: String)
    case topic(room: String, topic: String)
    case message(to: String, text: String, id: String)

    /// Reads an event.
    init(_ event: String, _ payload: Payload) throws(Problem) {
        guard let object = payload[0], payload[1] == nil, object.text.first == UInt8(ascii: "{") else {
            throw Problem("bad_request", "the payload must be one object")
        }
        if event == "msg" {
            self = try Self.message(object)
            return
        }
        guard let room = object["room"]?.string else { throw Problem("bad_request", "room must be a string") }
        try Self.checkLabel(object["room"], "bad_room", "room")
        switch event {
        case "join": self = .join(room: room, seen: try Self.seen(object))
        case "leave": self = .leave(room: room)
        case "say": self = try Self.say(room, object)
        case "who": self = .who(room: room)
        case "typing": self = .typing(room: room)
        case "topic": self = .topic(room: room, topic: try Self.topic(object["topic"]))
        default: throw Problem("bad_request", "no such event")
        }
    }

    private static func message(_ object: PayloadValue) throws(Problem) -> Self {
        try Self.checkLabel(object["to"], "bad_name", "name")
        let (text, id) = try Self.line(object)
        return .message(to: object["to"]?.string ?? "", text: text, id: id)
    }

    private static func topic(_ value: PayloadValue?) throws(Problem) -> String {
        guard let topic = value?.string else { throw Problem("bad_request", "topic must be a string") }
        let hasControls = topic.unicodeScalars.contains { $0.properties.generalCategory == .control }
        guard topic.unicodeScalars.count <= 256, !hasControls, value?.isUnicode == true else {
            throw Problem("bad_text", "a topic must have at most 256 characters and no control characters")
        }
        return topic
    }

    private static func say(_ room: String, _ object: PayloadValue) throws(Problem) -> Self {
        let (text, id) = try Self.line(object)
        return .say(room: room, text: text, id: id)
    }

    private static func line(_ object: PayloadValue) throws(Problem) -> (text: String, id: String) {
        guard let text = object["text"]?.string, let id = object["id"]?.string else {
            throw Problem("bad_request", "text and id must be strings")
        }
        guard (1...128).contains(id.unicodeScalars.count), object["id"]?.isUnicode == true else {
            throw Problem("bad_request", "id must have 1 to 128 characters")
        }
        guard (1...8_192).contains(text.unicodeScalars.count), object["text"]?.isUnicode == true else {
            throw Problem("bad_text", "text must have 1 to 8192 characters")
        }
        return (text, id)
    }

    private static func seen(_ object: PayloadValue) throws(Problem) -> ChatVocabulary.Seen? {
        guard let value = object["seen"], !value.isNull else { return nil }
        guard let seen = value.int, seen >= 0 else { throw Problem("bad_request", "seen must be a whole number") }
        return ChatVocabulary.Seen(seq: seen, numbering: object["numbering"]?.string)
    }

    /// Checks the name of a person or a room.
    static func checkLabel(_ value: PayloadValue?, _ code: String, _ what: String) throws(Problem) {
        let label = value?.string ?? ""
        let isBlank = label.unicodeScalars.allSatisfy { $0.properties.isWhitespace }
        guard !isBlank, label.unicodeScalars.count <= 64 else {
            throw Problem(code, "a \(what) must have 1 to 64 characters")
        }
        let hasControls = label.unicodeScalars.contains { $0.properties.generalCategory == .control }
        guard !hasControls, value?.isUnicode == true else {
            throw Problem(code, "a \(what) must not have control characters")
        }
    }
}

/// Who enters, and where.
struct ChatEntry: Sendable {
    var name: String
    var rooms: [String]
    var seen: [String: ChatVocabulary.Seen]

    /// Reads the credentials.
    init(_ auth: Payload?) throws(ChatRequest.Problem) {
        let object = auth?[0]
        try ChatRequest.checkLabel(object?["name"], "bad_name", "name")
        self.name = object?["name"]?.string ?? ""
        self.rooms = []
        self.seen = [:]
        if let rooms = object?["rooms"], !rooms.isNull {
            guard let elements = rooms.elements else {
                throw ChatRequest.Problem("bad_request", "rooms must be a list")
            }
            guard elements.count <= ChatRooms.maximumJoined else {
                throw ChatRequest.Problem("bad_request", "a connection may be in \(ChatRooms.maximumJoined) rooms")
            }
            for room in elements {
                try ChatRequest.checkLabel(room, "bad_room", "room")
                if let room = room.string { self.rooms.append(room) }
            }
        }
        guard let seen = object?["seen"], !seen.isNull else { return }
        let numbers = try? Payload(trustedElements: seen.text).decode([String: Int].self)
        guard let numbers, numbers.values.allSatisfy({ $0 >= 0 }) else {
            throw ChatRequest.Problem("bad_request", "seen must be an object of whole numbers")
        }
        let numberings = object?["numbering"]
        for (room, number) in numbers {
            self.seen[room] = ChatVocabulary.Seen(seq: number, numbering: numberings?[room]?.string)
        }
    }
}

extension PayloadValue {
    /// Whether the text can be read by others: JSON can spell half a surrogate pair, which is read as U+FFFD.
    fileprivate var isUnicode: Bool {
        guard self.string?.unicodeScalars.contains("\u{FFFD}") == true else { return true }
        return !String(decoding: self.text, as: UTF8.self).lowercased().contains(#"\ud"#)
    }
}
