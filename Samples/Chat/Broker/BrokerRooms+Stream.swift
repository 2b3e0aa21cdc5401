import Foundation
import Linkspan

/// The lines that a stream of JetStream keeps: read one after the other, so that none is missed, whatever node answers.
///
/// The requests are described at https://docs.nats.io/reference/reference-protocols/nats_api_reference.
extension BrokerRooms {
    /// The facts known about the stream, and the unanswered questions about it.
    struct Stream: Sendable {
        /// The numbering of its lines, which differs from that of another stream of the same name; nil until it is known.
        var numbering: String?
        /// The number of the first line that it has.
        var first = 1
        var lastID = Self.firstID
        var open: [UInt64: (question: Question, tick: Int)] = [:]

        /// Above all ids of the connection.
        private static let firstID: UInt64 = 1 << 63
    }

    enum Question: Sendable {
        case stream
        case creation(copies: Int)
        case last(room: String)
        case next(room: String)
    }

    private struct Configuration: Encodable, Sendable {
        let name = "chat"
        /// Differs for each client, so that the server takes the stream of one alone when several make it at a time.
        ///
        /// Of two equal ones it would take both, and change the time of the creation.
        let description: String
        let subjects = ["chat.rooms.>"]
        let retention = "limits"
        let storage = "file"
        let discard = "old"
        let max_msgs_per_subject = 10_000
        let num_replicas: Int
        /// In nanoseconds: for so long a line that comes again is recognised.
        let duplicate_window = 3_600_000_000_000
    }

    private struct Next: Encodable, Sendable {
        let seq: Int
        let next_by_subj: String
    }

    /// The number of ticks after which a question is asked again, for the node that should answer may be gone.
    private static let waiting = 8

    mutating func ask(_ question: Question) throws(LinkspanError) {
        self.session.stream.lastID += 1
        let id = self.session.stream.lastID
        self.session.stream.open[id] = (question, self.session.ticks)
        switch question {
        case .stream: try self.send("$JS.API.STREAM.INFO.chat", [String: String](), id: id)
        case .creation(let copies):
            let stream = Configuration(description: self.session.id, num_replicas: copies)
            try self.send("$JS.API.STREAM.CREATE.chat", stream, id: id)
        case .last(let room):
            try self.send("$JS.API.STREAM.MSG.GET.chat", ["last_by_subj": self.event("rooms", room)], id: id)
        case .next(let room):
            let position = self.session.rooms[room]?.position ?? 0
            let next = Next(seq: position + 1, next_by_subj: self.event("rooms", room))
            try self.send("$JS.API.STREAM.MSG.GET.chat", next, id: id)
        }
    }

    mutating func askAgain() throws(LinkspanError) {
        for (id, open) in self.session.stream.open where self.session.ticks - open.tick > Self.waiting {
            self.session.stream.open[id] = nil
            try self.ask(open.question)
        }
    }

    /// Finds the place in a room from which lines are read, as soon as the stream is known.
    mutating func startReading(_ room: String) throws(LinkspanError) {
        guard let numbering = self.session.stream.numbering else { return }
        guard let seen = self.session.rooms[room]?.seen else { return try self.ask(.last(room: room)) }
        let former = self.session.stream.first - 1
        let isKnown = seen.numbering == nil || seen.numbering == numbering
        let position = isKnown ? max(seen.seq, former) : former
        try self.arrive(in: room, at: position, isLossy: !isKnown || position > seen.seq)
        try self.ask(.next(room: room))
    }

    /// Reads the next line of a room, or notes that there may be one.
    mutating func readOn(_ room: String) throws(LinkspanError) {
        guard self.usesStream, let state = self.session.rooms[room] else { return }
        self.session.rooms[room]?.isRung = state.isReading
        self.session.rooms[room]?.isReading = true
        if !state.isReading { try self.ask(.next(room: room)) }
    }

    mutating func take(answerTo id: UInt64, _ answer: PayloadValue?) throws(LinkspanError) {
        guard let (question, _) = self.session.stream.open.removeValue(forKey: id) else { return }
        let (code, detail) = (answer?["error"]?["code"]?.int, answer?["error"]?["err_code"]?.int)
        switch (question, code) {
        case (.stream, nil), (.creation, nil):
            let description = answer?["config"]?["description"]?.string
            self.session.stream.numbering = description ?? answer?["created"]?.string ?? ""
            self.session.stream.first = answer?["state"]?["first_seq"]?.int ?? 1
            for room in self.session.rooms.keys.sorted() { try self.startReading(room) }
        case (.stream, 404): try self.ask(.creation(copies: 3))
        // A server alone has no other nodes for copies.
        case (.creation, _) where detail == 10_074: try self.ask(.creation(copies: 1))
        case (.last(let room), nil), (.last(let room), 404):
            try self.arrive(in: room, at: answer?["message"]?["seq"]?.int ?? 0, isLossy: false)
            try self.ask(.next(room: room))
        case (.next(let room), nil): try self.read(answer?["message"], in: room)
        case (.next(let room), 404):
            self.session.rooms[room]?.isReading = false
            guard self.session.rooms[room]?.isRung == true else { return }
            self.session.rooms[room]?.isRung = false
            try self.readOn(room)
        // Somebody else has made it.
        case (.creation, _) where detail == 10_058: try self.ask(.stream)
        case (.creation, _): self.session.stream.open[id] = (.stream, self.session.ticks)
        // For instance while the stream has no leader.
        default: self.session.stream.open[id] = (question, self.session.ticks)
        }
    }

    private mutating func read(_ message: PayloadValue?, in room: String) throws(LinkspanError) {
        guard let number = message?["seq"]?.int, self.session.rooms[room] != nil else { return }
        self.session.rooms[room]?.position = number
        let data = message?["data"]?.string.flatMap { Data(base64Encoded: $0) } ?? Data()
        // Other programs may put anything there.
        if let line = try? Payload(checking: Array(data)[...]).decode(BrokerLine.self), line.room == room {
            try self.hear(line, number)
        }
        try self.ask(.next(room: room))
    }

    /// Takes the failure of a question, which is asked again; of the first one nothing can be done without an answer.
    mutating func take(failureOf id: UInt64, _ error: LinkspanError) throws(LinkspanError) -> Bool {
        guard let open = self.session.stream.open[id] else { return false }
        if case .stream = open.question {
            throw LinkspanError(
                .serverUnavailable, "the NATS server has no JetStream now, which keeps the lines of the chat",
                cause: error)
        }
        return true
    }
}
