internal import Crypto
internal import Foundation
internal import Linkspan
internal import LinkspanBrokers
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocket
internal import TestSupport
internal import TestedBackEnds
internal import Testing

/// NATS against nats-server, with nats-py at its other side.
@Suite("NATS server", .overSomeBackEnd, .timeLimit(.minutes(2)))
struct NATSServerTests {
    @Test
    func `a delivery is acknowledged by its stream, and one with a known key is kept once`() async throws {
        try await Broker.run(.nats) { broker in
            let connection = try broker.connect(.nats)
            try await connection.up()
            try await broker.withPeer("--stream", of: .nats) {
                let first = try await connection.deliver("jobs.a", 1, key: "k")
                #expect(first[0]?["stream"]?.string == "jobs")
                let again = try await connection.deliver("jobs.a", 1, key: "k")
                #expect(again[0]?["duplicate"]?.bool == true)
                try await connection.deliver("jobs.b", 2)
            }
            #expect(try await broker.stream() == ["jobs.a": [1], "jobs.b": [2]])
        }
    }

    @Test
    func `without a stream a delivery waits for one, as long as it may`() async throws {
        try await Broker.run(.nats) { broker in
            let connection = try broker.connect(.nats) { $0.deliveries.repeatAfter = .milliseconds(200) }
            try await connection.up()
            let error = await #expect(throws: LinkspanError.self) {
                try await connection.deliver("jobs.a", 1, timeout: .milliseconds(500))
            }
            #expect(error?.code == .timedOut)
            let outcome = Journal<Bool>("the outcome")
            let command = Command(.deliver(orderingKey: "a"), event: "jobs.a", payload: try Payload(2)) {
                outcome.append((try? $0.get()) != nil)
            }
            try connection.perform(command)
            try await broker.withPeer("--stream", of: .nats) { try await outcome.first(1) }
            #expect(outcome.entries == [true])
            #expect(try await broker.stream()["jobs.a"]?.last == 2)
        }
    }

    @Test
    func `the answer of a listener does not acknowledge a delivery`() async throws {
        try await Broker.run(.nats) { broker in
            let connection = try broker.connect(.nats) { $0.deliveries.repeatAfter = .milliseconds(200) }
            let listener = try broker.connect(.nats)
            try listener.answer(Event<Int, String>("jobs.a")) { _ in "taken" }
            try await listener.up()
            try await connection.up()
            let outcome = Journal<String?>("the outcome")
            let command = Command(.deliver(orderingKey: "a"), event: "jobs.a", payload: try Payload(1)) {
                outcome.append(try? $0.get()[0]?["stream"]?.string)
            }
            try connection.perform(command)
            // The listener answers in order.
            #expect(try await connection.request("jobs.a", 2)[0]?.string == "taken")
            #expect(outcome.entries.isEmpty)
            try await broker.withPeer("--stream", of: .nats) { try await outcome.first(1) }
            #expect(outcome.entries == ["jobs"])
        }
    }

    @Test
    func `a delivery waits for a full stream`() async throws {
        try await Broker.run(.nats) { broker in
            let connection = try broker.connect(.nats) { $0.deliveries.repeatAfter = .milliseconds(100) }
            try await connection.up()
            try await broker.withPeer("--stream", "--limit", "1", of: .nats) {
                try await connection.deliver("jobs.a", 1)
                let outcome = Journal<Bool>("the outcome")
                let command = Command(.deliver(orderingKey: "a"), event: "jobs.a", payload: try Payload(2)) {
                    outcome.append((try? $0.get()) != nil)
                }
                try connection.perform(command)
                // The server handles the messages of a link in order: it has had the delivery before this request.
                _ = try await connection.request("peer.request", 1)
                #expect(outcome.entries.isEmpty)
                try connection.send("peer.room")
                try await outcome.first(1)
                #expect(outcome.entries == [true])
            }
        }
    }

    /// Expects that a request and a delivery fail because the server refuses them.
    private func expectRefusals(of event: String, on connection: any Connection) async throws {
        for kind in [Command.Kind.request, .deliver(orderingKey: "")] {
            let outcome = Journal<Result<Payload, LinkspanError>>("the outcome")
            try connection.perform(Command(kind, event: event, payload: .empty) { outcome.append($0) })
            let first = try await outcome.first(1)[0]
            let error = #expect(throws: LinkspanError.self) { try first.get() }
            #expect(error?.code == .messageRefused)
        }
    }

    @Test
    func `without subjects for replies requests and deliveries fail at once, and the link stays up`() async throws {
        let users = """
            authorization { users: [ { user: ann, password: x, permissions: { subscribe: { deny: "_INBOX.>" } } } ] }
            """
        try await Broker.run(.nats, "--setting", users) { broker in
            let connection = try broker.connect(.nats, auth: ["user": "ann", "pass": "x"])
            let (heard, changes) = (try connection.journal("end"), connection.changes())
            try await connection.up()
            try await self.expectRefusals(of: "news", on: connection)
            try connection.send("end", 1)
            try await heard.first(1)
            #expect(changes.entries.allSatisfy { $0.reason.error == nil })
        }
    }

    @Test
    func `a request that nobody hears fails at once`() async throws {
        try await Broker.run(.nats) { broker in
            let connection = try broker.connect(.nats)
            try await connection.up()
            let error = await #expect(throws: LinkspanError.self) {
                try await connection.request("nobody", 1, timeout: .seconds(60))
            }
            #expect(error?.code == .serverUnavailable)
            #expect(error?.certainty == .notSent)
            #expect(connection.status.state == .connected)
        }
    }

    @Test
    func `members of a queue group share the messages, and after the end of one the others get all`() async throws {
        try await Broker.run(.nats) { broker in
            let language = NATSMessageProtocol { $0.queueGroup = "workers" }
            let (heard, counts, sender) = (Journal<Int>("jobs"), Lock([0, 0]), try broker.connect(.nats))
            let members = try (0..<2).map { _ in try broker.connect(language) }
            for (index, member) in members.enumerated() {
                _ = try member.on("work.*") { message in
                    counts.withLock { $0[index] += 1 }
                    heard.append(message.payload[0]?.int ?? -1)
                }
                try await member.up()
                try await member.settle(".")
            }
            try await sender.up()
            for number in 0..<60 { try sender.send("work.\(number % 3)", number) }
            try await heard.first(60)
            #expect(counts.withLock { $0.allSatisfy { $0 > 0 } })
            let changes = members[0].changes()
            try members[0].disconnect()
            try await changes.first { $0.to == .disconnected }
            // The server reads the end of the subscriptions a moment later; until then it sends to that member, too.
            try await eventually("the other member gets everything") {
                let before = heard.entries.count
                for _ in 0..<20 { try sender.send("work.0", -1) }
                try await sender.settle(".")
                try await members[1].settle(".")
                return heard.entries.count == before + 20
            }
            for number in 60..<100 { try sender.send("work.\(number % 3)", number) }
            let numbers = try await heard.first(100) { $0 >= 0 }
            #expect(numbers.sorted() == Array(0..<100))
        }
    }

    @Test
    func `a token connects, and another one is refused`() async throws {
        try await Broker.run(.nats, "--setting", #"authorization { token: "s3" }"#) { broker in
            let bad = try broker.connect(.nats, auth: ["token": "s4"])
            try await eventually("it is refused") { bad.status.lastError?.code == .credentialsRefused }
            try await broker.connect(.nats, auth: ["token": "s3"]).up()
        }
    }

    /// Signs with the seed of a user, as the format of NATS writes it: base32 of two bytes, 32 of the seed, and a checksum.
    private struct SeedSigner: NATSSigner {
        private let key: Curve25519.Signing.PrivateKey
        let publicKey: String

        init(seed: String) throws {
            self.key = try .init(rawRepresentation: Base32.decode(seed).dropFirst(2).prefix(32))
            let bytes = [20 << 3] + Array(self.key.publicKey.rawRepresentation)
            let sum = Base32.checksum(bytes)
            self.publicKey = Base32.encode(bytes + [UInt8(sum & 0xFF), UInt8(sum >> 8)])
        }

        func sign(_ nonce: [UInt8]) throws -> [UInt8] { Array(try self.key.signature(for: nonce)) }
    }

    @Test
    func `the seed of a user signs the nonce of the server`() async throws {
        // A pair that the documentation of NATS shows.
        let good = try SeedSigner(seed: "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY")
        #expect(good.publicKey == "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4")
        let users = #"authorization { users: [ { nkey: \#(good.publicKey) } ] }"#
        try await Broker.run(.nats, "--setting", users) { broker in
            let bad = try broker.connect(NATSMessageProtocol { $0.signer = WrongSigner(publicKey: good.publicKey) })
            try await eventually("it is refused") { bad.status.lastError?.code == .credentialsRefused }
            try await broker.connect(NATSMessageProtocol { $0.signer = good }).up()
        }
    }

    private struct WrongSigner: NATSSigner {
        let publicKey: String
        func sign(_ nonce: [UInt8]) throws -> [UInt8] {
            Array(try Curve25519.Signing.PrivateKey().signature(for: nonce))
        }
    }

    @Test
    func `more than the server takes is refused here, and the link stays up`() async throws {
        try await Broker.run(.nats, "--setting", "max_payload: 1000") { broker in
            let connection = try broker.connect(.nats)
            let (heard, changes) = (try connection.journal("large"), connection.changes())
            try await connection.up()
            let error = await #expect(throws: LinkspanError.self) {
                try await connection.deliver("large", String(repeating: "x", count: 999))
            }
            #expect(error?.code == .messageTooLarge)
            // With its quotation marks as large as may be.
            try connection.send("large", String(repeating: "x", count: 998))
            #expect(try await heard.first(1)[0].payload.decode(String.self).count == 998)
            #expect(changes.entries.allSatisfy { $0.reason.error == nil })
        }
    }

    @Test
    func `a message with headers that is as large as the server takes keeps the link up`() async throws {
        try await Broker.run(.nats, "--setting", "max_payload: 1000") { broker in
            let connection = try broker.connect(.nats)
            let (heard, changes) = (try connection.journal("end"), connection.changes())
            try await connection.up()
            // A list of two, whose mark is a header.
            let error = await #expect(throws: LinkspanError.self) {
                try await connection.request("large", String(repeating: "x", count: 990), 1)
            }
            #expect(error?.code == .messageTooLarge)
            try connection.send("end")
            try await heard.first(1)
            #expect(changes.entries.allSatisfy { $0.reason.error == nil })
        }
    }

    @Test
    func `what the server does not permit fails at once or is logged, and the link stays up`() async throws {
        let users = """
            authorization { users: [ { user: ann, password: x, permissions: {
            publish: { deny: "secret.>" }, subscribe: { deny: "secret.>" } } } ] }
            """.replacing("\n", with: " ")
        try await Broker.run(.nats, "--setting", users) { broker in
            let connection = try broker.connect(.nats, auth: ["user": "ann", "pass": "x"])
            let (heard, changes) = (try connection.journal("end"), connection.changes())
            _ = try connection.journal("secret.news")
            try await connection.up()
            try connection.send("secret.news", 1)
            try await self.expectRefusals(of: "secret.news", on: connection)
            try connection.send("end", 1)
            try await heard.first(1)
            #expect(changes.entries.allSatisfy { $0.reason.error == nil })
        }
    }

    @Test
    func `after the end of a node everything goes on at another, and nothing acknowledged is lost`() async throws {
        try await Broker.run(.nats, "--nodes", "3") { broker in
            try await broker.withPeer("--stream", "--copies", "3", of: .nats) {}
            let (one, other) = (try broker.connect(.nats), try broker.connect(.nats, to: 1))
            let (news, outcomes) = (try one.journal("news"), Journal<Bool>("acknowledged"))
            try await one.up()
            try await other.up()
            let nodes = Set(try broker.nodes.map { "ws://127.0.0.1:\($0.port)" })
            let named = Set((one.status.link?.endpoints ?? []).map { "\($0.scheme)://\($0.host):\($0.port)" })
            #expect(nodes.subtracting(named).count <= 1, "\(named)")
            for number in 0..<200 {
                let command = Command(
                    .deliver(orderingKey: "k\(number % 2)"), event: "jobs.\(number % 2)", payload: try Payload(number),
                    key: "\(number)"
                ) { outcomes.append((try? $0.get()) != nil) }
                try one.perform(command)
                if number == 100 {
                    try await outcomes.first(20)
                    try broker.signal(SIGKILL)
                }
            }
            #expect(try await outcomes.first(200).allSatisfy(\.self))
            #expect(one.status.endpoint.port != (try broker.nodes[0].port))
            try await eventually("it hears what is sent at another node") {
                try other.send("news", 1)
                try await other.settle(".")
                return !news.entries.isEmpty
            }
            let kept = try await broker.stream(at: 1)
            for key in 0..<2 { #expect(kept["jobs.\(key)"] == Array(0..<200).filter { $0 % 2 == key }) }
        }
    }
}

/// The base32 of RFC 4648 without padding, and the checksum that NATS uses.
private enum Base32 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        let bits = bytes.flatMap { byte in (0..<8).reversed().map { byte >> $0 & 1 } }
        let groups = stride(from: 0, to: bits.count, by: 5).map { start in
            (start..<start + 5).reduce(0) { $0 << 1 | ($1 < bits.count ? Int(bits[$1]) : 0) }
        }
        return String(decoding: groups.map { Self.alphabet[$0] }, as: UTF8.self)
    }

    static func decode(_ text: String) -> [UInt8] {
        let bits = text.utf8.flatMap { character in
            let value = Self.alphabet.firstIndex(of: character) ?? 0
            return (0..<5).reversed().map { UInt8(value >> $0 & 1) }
        }
        return stride(from: 0, through: bits.count - 8, by: 8).map { bits[$0..<$0 + 8].reduce(0) { $0 << 1 | $1 } }
    }

    /// CRC-16 of the polynomial 0x1021.
    static func checksum(_ bytes: [UInt8]) -> UInt16 {
        bytes.reduce(UInt16(0)) { sum, byte in
            (0..<8).reduce(sum ^ UInt16(byte) << 8) { sum, _ in sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021 }
        }
    }
}
