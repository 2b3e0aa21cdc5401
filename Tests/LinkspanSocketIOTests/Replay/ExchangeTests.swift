internal import Linkspan
internal import LinkspanNetwork
internal import Testing

@testable import LinkspanSocketIO

@Suite("Recorded exchanges")
struct ExchangeTests {
    @Test
    func `all of them are read, and what is expected of one is expected of one that is there`() throws {
        let exchanges = try Exchange.load()
        #expect(exchanges.count == 57)
        #expect(Set(exchanges.map(\.name)).count == 57)
        let expected = Set(Exchange.deviations.keys).union(Exchange.endings.keys)
        #expect(expected.subtracting(exchanges.map(\.name)) == [])
        let conversations = try exchanges.map(Conversation.all)
        #expect(conversations.allSatisfy { !$0.isEmpty })
        #expect(conversations.map(\.count).reduce(0, +) == 64)
    }

    @Test(arguments: ["<", "< 1", "< x text 2", "? 1 text 2", "< 1 binary 0g", "< 1 what"])
    func `a line that means nothing is refused`(line: String) {
        #expect(throws: Exchange.Malformed.self) { try Exchange.read("# title\n\(line)\n") }
    }

    @Test(arguments: Exchange.all)
    func `our session says what the recorded client did, and tells what the packets say`(exchange: Exchange) throws {
        let played = try Self.play(exchange)
        for replay in played {
            #expect(replay.outcomes == replay.expected.all)
            #expect(replay.session.activeNamespaces == 0)
        }
        let deviation = Exchange.deviations[exchange.name]
        #expect(played.flatMap(\.unmatched) == deviation?.unsent ?? [], "we wrote what the recorded client did not")
        #expect(played.flatMap(\.unheard) == deviation?.unheard ?? [], "the recorded client wrote what we did not")
        #expect(played.map(\.parts).reduce(0, +) == (exchange.name == "15: Accepted" ? 1 : 0))
    }

    @Test(arguments: Exchange.all.filter { !$0.reports.isEmpty })
    func `the official client reported the same`(exchange: Exchange) throws {
        let deviation = Exchange.deviations[exchange.name]
        let reports = deviation?.eventsFollowOpened == true ? exchange.reportsWithOpenedFirst : exchange.reports
        #expect((reports != exchange.reports) == (deviation?.eventsFollowOpened ?? false))
        // Replies went to where they were asked for, and were not logged in one form.
        let outcomes = try Self.play(exchange).flatMap(\.outcomes).filter {
            if case .reply = $0 { false } else { true }
        }
        try #require(outcomes.count == reports.count)
        var open: Set<String> = []
        for (outcome, report) in zip(outcomes, reports) {
            let wasOpen = open.contains(report.namespace)
            let isSame = try report.says(outcome, wasOpen: wasOpen, endsEarlier: deviation?.endsEarlier)
            #expect(isSame, "\(outcome) is not \(report)")
            switch outcome {
            case .opened: open.insert(report.namespace)
            case .closed: open.remove(report.namespace)
            case .message, .reply: ()
            }
        }
    }

    @Test
    func `clients driven by hand or of another version reported nothing`() {
        let names = Exchange.all.filter(\.reports.isEmpty).map { String($0.name.prefix(2)) }
        #expect(names == ["09", "09", "13", "13", "13", "13", "13", "13", "14", "14"])
    }

    @Test(arguments: Exchange.all)
    func `each packet is the same after decoding and encoding, in both directions`(exchange: Exchange) throws {
        for conversation in try Conversation.all(in: exchange) {
            for isFromServer in [true, false] {
                var check = PacketCheck(version: conversation.version)
                for case .packets(isFromServer, let isPolling, let packets) in conversation.steps {
                    for packet in packets { try check.take(packet, isPolling: isPolling) }
                }
                #expect(check.isComplete)
            }
        }
    }

    @Test(arguments: Exchange.all)
    func `each body of packets is the same after decoding and encoding, in both directions`(exchange: Exchange) throws {
        for conversation in try Conversation.all(in: exchange) {
            for body in conversation.bodies {
                var written: [UInt8] = []
                switch body.version {
                case .v4: PollingPayload.append(try PollingPayload.decode(body.bytes[...]), to: &written)
                case .v3: LegacyPollingPayload.append(try LegacyPollingPayload.decode(body.bytes[...]), to: &written)
                }
                #expect(text(written) == text(body.bytes))
            }
        }
    }

    @Test
    func `bodies of both versions and both directions are among them`() throws {
        let bodies = try Exchange.all.flatMap { try Conversation.all(in: $0) }.flatMap { conversation in
            conversation.bodies.map { ($0.version, $0.isFromServer) }
        }
        #expect(bodies.count { $0 == .v4 && $1 } == 44)
        #expect(bodies.count { $0 == .v4 && !$1 } == 41)
        #expect(bodies.count { $0 == .v3 && $1 } == 11)
        #expect(bodies.count { $0 == .v3 && !$1 } == 9)
    }

    @Test
    func `connection state recovery is resumed with the offset of the last event`() throws {
        let played = try Self.play(
            Exchange.named("11: Websocket cut by the proxy, four missed packets, resumed"))
        try #require(played.count == 2)
        #expect(played[0].remainingRecoveries["/"]?.offset.latest == "Q7xWgm-")
        // The missed events came before the answer to CONNECT, and are delivered after `opened`.
        #expect(played[1].outcomes.first == .opened("/", sid: "8sWzXN-PHlBpCxFyAAAA", isContinuous: true))
        let missed = played[1].outcomes.dropFirst().prefix(4).count { if case .message = $0 { true } else { false } }
        #expect(missed == 4)
    }

    @Test
    func `a server of Socket.IO v2 is named as such`() throws {
        let exchange = try Exchange.named("14: EIO=4 client, official v2 server, websocket")
        var session = SocketIOSession(openTimeout: .seconds(10), now: at(0))
        _ = try session.enter()
        var error: LinkspanError?
        for line in exchange.lines where line.isFromServer {
            if case .text(let frame) = line.content { error = session.take(text(frame)).closingError }
        }
        #expect(error?.code == .unsupportedVersion)
        #expect(error?.message.contains("v2") == true)
    }

    /// Plays the sessions of an exchange one after another, each with what the former left.
    private static func play(_ exchange: Exchange) throws -> [ConversationReplay] {
        var played: [ConversationReplay] = []
        for conversation in try Conversation.all(in: exchange) {
            var replay = ConversationReplay(
                conversation, ending: Exchange.endings[exchange.name],
                recoveries: played.last?.remainingRecoveries ?? [:])
            try replay.run()
            played.append(replay)
        }
        return played
    }
}

/// Decodes the packets of one direction, encodes them, and compares.
private struct PacketCheck {
    private let version: EngineIOVersion
    private var decoder = SocketIODecoder()
    private var header = ""
    private var attachments: [[UInt8]] = []

    init(version: EngineIOVersion) { self.version = version }

    /// Whether no attachment is missing.
    var isComplete: Bool { !self.decoder.isCollecting }

    mutating func take(_ packet: WebSocketMessage, isPolling: Bool) throws {
        switch packet {
        case .text(let frame):
            let packet = try EngineIOPacket(text: frame)
            guard case .message(let message) = packet else { return }
            self.header = text(frame)
            self.attachments = []
            try self.compare(self.decoder.receive(text: message))
        case .binary(let bytes):
            let data = isPolling || self.version == .v4 ? bytes : bytes.dropFirst()
            self.attachments.append(Array(data))
            try self.compare(self.decoder.receive(binary: data))
        }
    }

    private func compare(_ packet: SocketIOPacket?) throws {
        guard let packet else { return }
        var written: [UInt8] = []
        var attachments: [ArraySlice<UInt8>] = []
        switch packet {
        case .connect(let name, let payload) where self.version == .v3:
            let halves = text(name).split(separator: "?").map(String.init)
            guard let first = halves.first else { return #expect(self.header == "40" && payload.isEmpty) }
            SocketIOEncoder.append(
                connectWith: halves.count == 2 ? bytes(halves[1]) : [], in: try SocketIONamespace(first), to: &written)
        case .connect(let name, let payload):
            SocketIOEncoder.append(connect: payload.elements, in: try SocketIONamespace(text(name)), to: &written)
        case .disconnect(let name):
            SocketIOEncoder.append(disconnectIn: try SocketIONamespace(text(name)), to: &written)
        case .event(let name, let message):
            attachments = message.payload.attachments
            SocketIOEncoder.append(
                event: message.event, message.payload, id: message.replyID, in: try SocketIONamespace(text(name)),
                to: &written)
        case .ack(let name, let id, let payload):
            attachments = payload.attachments
            SocketIOEncoder.append(
                ack: try #require(id), payload, in: try SocketIONamespace(text(name)), to: &written)
        case .connectError(let name, let payload):
            // Only servers refuse, so there is nothing that writes it.
            written = Array("44\(text(try SocketIONamespace(text(name)).prefix))\(text(payload.elements))".utf8)
        }
        #expect(text(written) == self.header)
        #expect(attachments.map { Array($0) } == self.attachments)
    }
}
