internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocket

/// Checks of the contract of ``/LinkspanWebSocket/MessageProtocol``, to run over any implementation, in virtual time.
///
/// ```swift
/// @Test(arguments: MessageProtocolConformance.Check.allCases)
/// func `lines conform`(check: MessageProtocolConformance.Check) throws {
///     try MessageProtocolConformance.run(check, over: LinePeer())
/// }
/// ```
public enum MessageProtocolConformance {
    /// One promise.
    public struct Check: Sendable, CaseIterable, CustomStringConvertible {
        /// The promise in a few words.
        public let description: String
        fileprivate let perform: @Sendable (any MessageProtocolPeer) throws -> Void

        fileprivate init(_ promise: String, _ perform: @escaping @Sendable (any MessageProtocolPeer) throws -> Void) {
            (self.description, self.perform) = (promise, perform)
        }

        /// A promise of a session that the server has accepted and that listens to the event.
        fileprivate init(
            ofSession promise: String, _ perform: @escaping @Sendable (inout ProtocolConversation) throws -> Void
        ) {
            self.init(promise) { peer in
                var conversation = try ProtocolConversation.ready(peer)
                try perform(&conversation)
            }
        }

        /// Every promise.
        public static let allCases = Self.session + Self.messages + Self.outcomes + Self.input
    }

    /// Runs one check.
    ///
    /// - Parameters:
    ///   - check: the promise.
    ///   - peer: the protocol and its server.
    /// - Throws: an error that says which promise is broken, and how.
    public static func run(_ check: Check, over peer: some MessageProtocolPeer) throws {
        do {
            try check.perform(peer)
        } catch {
            throw ProtocolFailure("\(check): \(error)")
        }
    }
}

private func expect(_ isTrue: Bool, _ otherwise: @autoclosure () -> String) throws {
    if !isTrue { throw ProtocolFailure(otherwise()) }
}

extension MessageProtocolConformance.Check {
    private static let session: [Self] = [
        Self("opens when the server accepts, and not before") { peer in
            let beginning = try ProtocolConversation(peer)
            if try !beginning.messages([.acceptance(isResumed: false)]).isEmpty {
                try expect(!beginning.isReady, "the session is ready before the server has accepted it")
                try expect(beginning.heard.contains(.greeting), "the client has not greeted")
            }
            _ = try ProtocolConversation.ready(peer)
        },
        Self("reports refused credentials") { peer in
            var conversation = try ProtocolConversation(peer)
            do {
                guard try conversation.say(.refusal) else { return }
            } catch let error as LinkspanError {
                return try expect(error.code == .credentialsRefused, "the refusal has the code \(error.code)")
            }
            throw ProtocolFailure("the session goes on without credentials")
        },
        Self(ofSession: "sends heartbeats, and ends when none is answered") { conversation in
            guard conversation.deadline != nil else { return }
            for round in 1...5 {
                let before = conversation.heard.count
                try conversation.passTime(.seconds(round == 3 ? 3_600 : 0))
                try expect(conversation.heard[before...].contains(.heartbeat), "no heartbeat was sent in time")
                guard try conversation.say(.heartbeatAnswer) else { return }
            }
            do {
                for _ in 0..<3 { try conversation.passTime() }
            } catch let error as LinkspanError {
                return try expect(!error.isPermanent, "after the silence there is no other attempt: \(error)")
            }
            throw ProtocolFailure("a server that answers no heartbeat is kept")
        },
        Self(ofSession: "answers the server's heartbeats") { conversation in
            guard try conversation.say(.heartbeat) else { return }
            try expect(conversation.heard.last == .heartbeatAnswer, "the heartbeat was not answered")
        },
        Self(ofSession: "shows renewed credentials, or asks for a new link") { conversation in
            guard try conversation.renew(conversation.peer.credentials) else { return }
            try expect(conversation.heard.contains(.renewal), "the server has not seen the credentials")
            try conversation.hear()
        },
        Self(ofSession: "goes on with a former session only if the server does") { conversation in
            guard let resumption = conversation.session.resumption else { return }
            let beginning = try ProtocolConversation(conversation.peer, resumption: resumption)
            try expect(
                beginning.isReady || beginning.session.resumption == resumption,
                "an attempt that the server has not accepted changes where the next one goes on")
            for isResumed in [true, false] {
                let next = try ProtocolConversation.ready(
                    conversation.peer, resumption: resumption, isResumed: isResumed)
                try expect(
                    next.session.info.isContinuous == isResumed,
                    "the session \(isResumed ? "is not" : "is") continuous")
            }
        },
        Self(ofSession: "says goodbye in words of the protocol") { conversation in try conversation.end() },
    ]

    private static let messages: [Self] = [
        Self(ofSession: "carries events both ways unchanged") { conversation in
            try conversation.hear()
            try conversation.speak()
        },
        Self(ofSession: "subscribes for the first listener, and ends that after the last") { conversation in
            guard conversation.session.subscribes else { return }
            for _ in 0..<2 {
                try expect(conversation.isSubscribing, "the server has heard of no subscription")
                try conversation.hear()
                try conversation.setListening(false)
                try expect(conversation.isUnsubscribing, "the server has heard of no end of the subscription")
                let late = try conversation.messages([.event(conversation.peer.event, .empty, mark: nil)])
                for message in late { try conversation.receive(message) }
                try conversation.setListening(true)
            }
        },
        Self(ofSession: "subscribes again over the next link") { conversation in
            guard conversation.session.subscribes else { return }
            let resumption = conversation.session.resumption
            for isResumed in resumption == nil ? [false] : [false, true] {
                var next = try ProtocolConversation.ready(
                    conversation.peer, resumption: resumption, isResumed: isResumed)
                try expect(next.isSubscribing, "the server has heard of no subscription over the next link")
                try next.hear()
            }
        },
        Self(ofSession: "refuses what is too large, and goes on") { conversation in
            guard let payload = conversation.peer.excessivePayload else { return }
            do {
                try conversation.send(.event(name: conversation.peer.event, payload: payload, id: nil))
            } catch let error as LinkspanError {
                try expect(error.code == .messageTooLarge, "the refusal has the code \(error.code)")
                return try conversation.speak()
            }
            throw ProtocolFailure("a message that is too large was sent")
        },
    ]

    private static let outcomes: [Self] = [
        Self(ofSession: "ends requests by their own replies, in any order") { conversation in
            let marks = try (1...3).map { try conversation.request($0) }
            let payload = conversation.peer.payload
            for (id, mark) in zip(1..., marks).reversed() {
                guard let mark else { throw ProtocolFailure("request \(id) has no mark for its reply") }
                try conversation.say(.reply(mark: mark, payload))
                try expect(conversation.events.last == "reply \(id)", "request \(id) got no reply")
            }
            // As after the end of the caller's time.
            if let mark = marks[0] { try conversation.say(.reply(mark: mark, payload)) }
            try conversation.speak()
        }.ifAnswered,
        Self(ofSession: "ends a request that the server refuses, and no other") { conversation in
            let marks = try (1...2).compactMap { try conversation.request($0) }
            guard marks.count == 2, try conversation.say(.failure(mark: marks[0])) else { return }
            try expect(conversation.events.last == "failure of 1", "the refusal is \(conversation.events)")
            try conversation.say(.reply(mark: marks[1], conversation.peer.payload))
            try expect(conversation.events.last == "reply 2", "the other request got no reply")
        }.ifAnswered,
        Self(ofSession: "takes acknowledgements of deliveries, again over the next link") { conversation in
            guard let first = try conversation.deliver(1), try conversation.deliver(2) != nil else {
                throw ProtocolFailure("a delivery has no mark for its acknowledgement")
            }
            try conversation.say(.reply(mark: first, conversation.peer.payload))
            try expect(conversation.events.last == "reply 1", "delivery 1 was not acknowledged")
            var next = try ProtocolConversation.ready(conversation.peer, resumption: conversation.session.resumption)
            guard let again = try next.deliver(2, isRepeated: true) else {
                throw ProtocolFailure("a repeated delivery has no mark for its acknowledgement")
            }
            try next.say(.reply(mark: again, next.peer.payload))
            try expect(next.events.last == "reply 2", "the repeated delivery was not acknowledged")
        }.ifAnswered,
        Self(ofSession: "has room again when deliveries are acknowledged") { conversation in
            var marks: [String] = []
            for id in 1...100 where !conversation.isFull {
                guard let mark = try conversation.deliver(UInt64(id)) else { return }
                marks.append(mark)
            }
            try expect(!marks.isEmpty, "the session is full before anything was sent")
            for mark in marks { try conversation.say(.reply(mark: mark, conversation.peer.payload)) }
            try expect(!conversation.isFull, "the session is full although everything was acknowledged")
        }.ifAnswered,
        Self(ofSession: "answers the server's questions") { conversation in
            let (event, payload) = (conversation.peer.event, conversation.peer.payload)
            for mark in ["1", "2"] {
                guard try conversation.say(.event(event, payload, mark: mark)) else { return }
                guard let id = conversation.events.last?.split(separator: " asks ").last.flatMap({ UInt64($0) }) else {
                    throw ProtocolFailure("a question is not one: \(conversation.events)")
                }
                let answer = try conversation.send(.reply(id: id, payload: payload))
                try expect(
                    answer == .reply(mark: mark, payload), "the server got \(answer.map { "\($0)" } ?? "no answer")")
            }
        },
    ]

    /// The same check, which a protocol without requests passes by refusing them.
    private var ifAnswered: Self {
        Self(self.description) { [perform] peer in
            do {
                try perform(peer)
            } catch let error as LinkspanError {
                guard !peer.takesRequests, error.code == .encodingFailed else { throw error }
            }
        }
    }
}

extension MessageProtocolConformance.Check {
    private static let input: [Self] = [
        Self("reads a stream the same however it is cut") { peer in
            guard peer.isStream else { return }
            var whole = try ProtocolConversation.ready(peer)
            let event = PeerAction.event(peer.event, peer.payload, mark: nil)
            let traffic = [event, event, .heartbeat, .heartbeatAnswer, .event(peer.event, .empty, mark: nil), event]
            let bytes = try whole.messages(traffic).flatMap(\.bytes)
            let start = whole
            try whole.receive(.binary(bytes[...]))
            for cut in 1..<bytes.count {
                var parts = start
                try parts.receive(.binary(bytes[..<cut]))
                try parts.receive(.binary(bytes[cut...]))
                try expect(parts.events == whole.events, "cut at \(cut) of \(bytes.count) it has other events")
            }
            var single = start
            for byte in bytes { try single.receive(.binary([byte])) }
            try expect(single.events == whole.events, "byte by byte it has other events")
        },
        Self("ends with an error when it is sent what is malformed, or takes no notice") { peer in
            let beginning = try ProtocolConversation(peer)
            var ready = try ProtocolConversation.ready(peer)
            let (event, mark) = (peer.event, peer.takesRequests ? try ready.request(1) ?? "" : "")
            let samples =
                try beginning.messages([.greeting, .acceptance(isResumed: true), .refusal])
                + ready.messages(mark.isEmpty ? [] : [.reply(mark: mark, peer.payload), .failure(mark: mark)])
                + ready.messages([
                    .event(event, peer.payload, mark: nil), .event(event, .empty, mark: "1"), .heartbeat,
                    .heartbeatAnswer,
                ])
            for seed in 0..<2_000 {
                var (generator, conversation) = (Generator(seed: UInt64(seed)), seed % 4 == 0 ? beginning : ready)
                do {
                    for _ in 0..<4 { try conversation.receive(generator.damaged(samples)) }
                } catch let error as LinkspanError {
                    try expect(
                        !error.message.utf8.contains { $0 < 0x20 }, "the error for seed \(seed) has several lines")
                }
            }
        },
    ]
}

extension ProtocolConversation {
    /// Has the server send the event, which has to arrive.
    fileprivate mutating func hear() throws {
        let (event, payload) = (self.peer.event, self.peer.payload)
        guard try self.say(.event(event, payload, mark: nil)) else { return }
        let expected = "\(event) \(String(decoding: payload.elements, as: UTF8.self))"
        try expect(self.events.last == expected, "instead of '\(expected)' came \(self.events.last ?? "nothing")")
    }

    /// Sends the event, which has to arrive.
    fileprivate mutating func speak() throws {
        guard self.peer.takesEvents else { return }
        let (event, payload) = (self.peer.event, self.peer.payload)
        let heard = try self.send(.event(name: event, payload: payload, id: nil))
        try expect(
            heard == .event(event, payload, mark: nil), "the server got \(heard.map { "\($0)" } ?? "nothing")")
    }
}

/// Random numbers from a seed, by Marsaglia's xorshift; this module may not depend on that of `SeededGenerator`.
private struct Generator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        self.state ^= self.state << 13
        self.state ^= self.state >> 7
        self.state ^= self.state << 17
        return self.state
    }

    /// One of the messages with a few changes, or random bytes.
    mutating func damaged(_ samples: [WebSocketMessage]) -> WebSocketMessage {
        let sample = samples.randomElement(using: &self) ?? .binary([])
        var bytes = Array(sample.bytes)
        for _ in 0..<Int.random(in: 1...4, using: &self) {
            let index = Int.random(in: 0...bytes.count, using: &self)
            switch Int.random(in: 0..<6, using: &self) {
            case 0: bytes.insert(.random(in: 0...255, using: &self), at: index)
            case 1: bytes.removeSubrange(index...)
            case 2: if index < bytes.count { bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &self) }
            case 3: if index < bytes.count { bytes.remove(at: index) }
            case 4: bytes.insert(contentsOf: bytes[index...].prefix(16), at: index)
            default: bytes = (0..<index).map { _ in .random(in: 0...255, using: &self) }
            }
        }
        guard case .text = sample else { return .binary(bytes[...]) }
        return .text(Array(String(decoding: bytes, as: UTF8.self).utf8)[...])
    }
}
