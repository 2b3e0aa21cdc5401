import Linkspan
import LinkspanNetwork
import LinkspanWebSocket

/// Messages from the broker.
extension BrokerRooms {
    /// The number of ticks without a beat after which somebody has left.
    private static let patience = 30
    /// The number of ticks within which those who are in a room answer somebody who enters.
    private static let gathering = 2

    mutating func decode(text: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        throw LinkspanError(.protocolViolation, "the broker has sent text")
    }

    mutating func decode(binary: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        let wasReady = self.isReady
        let decoded = try self.broker.decode(binary: binary)
        if self.isReady, !wasReady { try self.enter() }
        return try self.translate(decoded)
    }

    /// Translates messages of the broker into events and replies of a chat server.
    mutating func translate(_ decoded: DecodedEnvelope) throws(LinkspanError) -> DecodedEnvelope {
        for envelope in decoded.envelopes {
            switch envelope {
            case .event(let name, let payload, let id): try self.take(name, payload, id)
            case .reply(let id, let payload): try self.take(replyTo: id, payload)
            }
        }
        var failures: [DecodedEnvelope.Failure] = []
        for failure in decoded.failures where try !self.settle(failure) { failures.append(failure) }
        let news = self.session.news
        self.session.news = []
        return DecodedEnvelope(news, answers: decoded.answers + self.takeOutput(), failures: failures)
    }

    private mutating func take(_ event: String, _ payload: Payload, _ question: UInt64?) throws(LinkspanError) {
        switch event.split(separator: self.separator).dropFirst().first {
        case "direct":
            self.session.news.append(.event(name: "msg", payload: payload, id: nil))
            guard let question else { return }
            let reply = Envelope.reply(id: question, payload: try Payload(ChatVocabulary.Answer(ok: true)))
            _ = try self.broker.encode(reply, to: &self.session.output)
        // Other programs may send anything.
        case "signs": if let sign = try? payload.decode(RoomSign.self) { try self.take(sign) }
        default:
            guard let line = try? payload.decode(BrokerLine.self),
                let position = self.session.rooms[line.room]?.position
            else { return }
            try self.hear(line, position + 1)
        }
    }

    private mutating func take(_ sign: RoomSign) throws(LinkspanError) {
        guard let room = self.session.rooms[sign.room] else { return }
        guard sign.by != self.session.id else {
            // The broker has handled the subscriptions before it, so that no later line is missed.
            guard !self.usesStream, room.position == nil else { return }
            return try self.arrive(in: sign.room, at: room.seen?.seq ?? 0, isLossy: room.seen != nil)
        }
        let person = ChatVocabulary.Presence(room: sign.room, name: sign.name)
        try self.takeTopic(of: sign)
        switch sign.kind {
        case .here:
            let isNew = !self.names(in: sign.room).contains(sign.name)
            // Those who answer at the entry were there before.
            if isNew, self.hasGathered(in: sign.room) { try self.tell("joined", person) }
            self.session.rooms[sign.room]?.people[sign.by] = (sign.name, self.session.ticks)
            if sign.isQuestion == true { try self.sign(.here, in: sign.room) }
        case .gone: try self.lose(sign.by, in: sign.room)
        case .typing: try self.tell("typing", person)
        case .topic: ()
        case .line: try self.readOn(sign.room)
        }
    }

    private mutating func takeTopic(of sign: RoomSign) throws(LinkspanError) {
        guard let text = sign.topic else { return }
        let (known, isNew) = (self.session.topics[sign.room], sign.kind == .topic)
        var topic = RoomTopic(text: text, number: sign.topicNumber ?? 0)
        // The author may have entered a moment ago, and not know the number of the former one.
        if isNew { topic.number = max(topic.number, (known?.number ?? 0) + 1) }
        guard topic.isLater(than: known) else { return }
        self.session.topics[sign.room] = topic
        guard isNew || text != known?.text else { return }
        // Without a name it is the topic found at the entry.
        try self.tell("topic", ChatVocabulary.Topic(room: sign.room, topic: text, name: isNew ? sign.name : nil))
    }

    private mutating func lose(_ link: String, in room: String) throws(LinkspanError) {
        guard let name = self.session.rooms[room]?.people.removeValue(forKey: link)?.name,
            !self.names(in: room).contains(name)
        else { return }
        try self.tell("left", ChatVocabulary.Presence(room: room, name: name))
    }

    func names(in room: String) -> Set<String> {
        Set([self.session.name] + (self.session.rooms[room]?.people.values.map(\.name) ?? []))
    }

    /// Removes absent people, goes on with what waited until it is known who is there, and reads lines whose sign was lost.
    mutating func lookAround() throws(LinkspanError) {
        for (name, room) in self.session.rooms {
            for (link, person) in room.people where self.session.ticks - person.tick > Self.patience {
                try self.lose(link, in: name)
            }
            try self.answerQuestions(in: name)
            if self.session.ticks.isMultiple(of: Self.beat) { try self.readOn(name) }
        }
        let directs = self.session.earlyDirects
        self.session.earlyDirects = []
        for direct in directs { try self.ask(direct) }
        try self.askAgain()
    }

    /// True once the members of a room had time to answer.
    func hasGathered(in room: String) -> Bool {
        self.session.ticks - (self.session.rooms[room]?.entered ?? 0) >= Self.gathering
    }

    /// Answers who is in a room, once that is known.
    mutating func answerQuestions(in name: String) throws(LinkspanError) {
        guard let room = self.session.rooms[name], self.hasGathered(in: name) else { return }
        for id in room.questions { try self.answer(id, .init(ok: true, members: self.names(in: name).sorted())) }
        self.session.rooms[name]?.questions = []
    }

    private mutating func take(replyTo id: UInt64, _ payload: Payload) throws(LinkspanError) {
        if let room = self.session.lines.removeValue(forKey: id) {
            // Only now can those who hear of the line read it.
            if self.usesStream { try self.sign(.line, in: room) }
            try self.answer(id, .init(ok: true, seq: payload[0]?["seq"]?.int))
        } else if self.session.directs.remove(id) != nil {
            self.session.news.append(.reply(id: id, payload: payload))
        } else {
            try self.take(answerTo: id, payload[0])
        }
    }

    /// Handles a failure that is hidden from the features; returns false for any other.
    private mutating func settle(_ failure: DecodedEnvelope.Failure) throws(LinkspanError) -> Bool {
        guard let id = failure.id else { return false }
        guard self.session.directs.remove(id) == nil else {
            try self.answer(id, .nobody)
            return true
        }
        return try self.take(failureOf: id, failure.error)
    }

    /// Starts reading a room after `position`.
    mutating func arrive(in room: String, at position: Int, isLossy: Bool) throws(LinkspanError) {
        if isLossy { try self.tell("gap", ChatVocabulary.Gap(room: room)) }
        self.session.rooms[room]?.position = position
        let numbering = self.session.stream.numbering
        try self.tell("room", ChatVocabulary.Position(room: room, seq: position, numbering: numbering))
    }

    mutating func hear(_ line: BrokerLine, _ number: Int) throws(LinkspanError) {
        self.session.rooms[line.room]?.position = number
        try self.tell(
            "message",
            ChatVocabulary.Line(room: line.room, from: line.from, text: line.text, id: line.id, seq: number))
    }
}
