import Linkspan
import LinkspanNetwork
import LinkspanWebSocket

/// Messages from the features.
extension BrokerRooms {
    mutating func encode(
        _ envelope: consuming Envelope, to buffer: inout [UInt8]
    ) throws(LinkspanError) -> EncodedKind {
        guard case .event(let name, let payload, let id) = envelope else { return .nothing }
        let place = try payload.decode(ChatVocabulary.Place.self)
        let room = place.room
        let isIn = self.session.rooms[room] != nil
        switch name {
        case "join":
            if !isIn {
                let seen = place.seen.map { ChatVocabulary.Seen(seq: $0, numbering: place.numbering) }
                self.session.rooms[room] = Room(entered: self.session.ticks, seen: seen)
                try self.enter(room)
            }
            try self.answer(id, .init(ok: true))
        case _ where !isIn: try self.answer(id, .refusal("not_in_room", "join the room first"))
        case "leave":
            try self.sign(.gone, in: room)
            let messages = ["signs", "rooms"].flatMap { self.broker.unsubscribe(from: self.event($0, room)) }
            for case .binary(let bytes) in messages { self.session.output += bytes }
            (self.session.rooms[room], self.session.topics[room]) = (nil, nil)
            try self.answer(id, .init(ok: true))
        case "who":
            if let id { self.session.rooms[room]?.questions.append(id) }
            try self.answerQuestions(in: room)
        case "typing": try self.sign(.typing, in: room)
        case "topic":
            let number = (self.session.topics[room]?.number ?? 0) + 1
            self.session.topics[room] = payload[0]?["topic"]?.string.map { RoomTopic(text: $0, number: number) }
            try self.sign(.topic, in: room)
            try self.answer(id, .init(ok: true))
        default: try self.answer(id, .refusal("bad_request", "there is no event '\(name)'"))
        }
        return self.move(to: &buffer)
    }

    mutating func encode(
        delivery: EncodedDelivery, to buffer: inout [UInt8]
    ) throws(LinkspanError) -> EncodedKind {
        guard delivery.event == "say" else {
            try self.ask(delivery)
            return self.move(to: &buffer)
        }
        let say = try delivery.payload.decode(ChatVocabulary.Say.self)
        let line = BrokerLine(room: say.room, from: self.session.name, text: say.text, id: say.id)
        var delivery = delivery
        (delivery.event, delivery.payload) = (self.event("rooms", say.room), try Payload(line))
        self.session.lines[delivery.id] = say.room
        return try self.broker.encode(delivery: delivery, to: &buffer)
    }

    /// Asks the person that a private message is for, who answers; after an entry, as soon as it is known who is there.
    mutating func ask(_ direct: EncodedDelivery) throws(LinkspanError) {
        var message = try direct.payload.decode(ChatVocabulary.Direct.self)
        message.from = self.session.name
        let rooms = self.session.rooms.keys
        if rooms.contains(where: { self.names(in: $0).contains(message.to) }) {
            self.session.directs.insert(direct.id)
            try self.send(self.event("direct", message.to), message, id: direct.id)
        } else if rooms.allSatisfy({ self.hasGathered(in: $0) }) {
            try self.answer(direct.id, .nobody)
        } else if !self.session.earlyDirects.contains(where: { $0.id == direct.id }) {
            self.session.earlyDirects.append(direct)
        }
    }

    private mutating func move(to buffer: inout [UInt8]) -> EncodedKind {
        buffer += self.session.output
        self.session.output = []
        return buffer.isEmpty ? .nothing : .selfContained
    }
}

extension ChatVocabulary.Answer {
    static let nobody = Self.refusal("no_such_person", "nobody of that name is here")

    static func refusal(_ code: String, _ message: String) -> Self {
        Self(ok: false, error: Problem(code: code, message: message))
    }
}
