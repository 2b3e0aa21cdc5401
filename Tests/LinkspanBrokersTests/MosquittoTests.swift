internal import Foundation
internal import Linkspan
internal import LinkspanBrokers
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocket
internal import TestSupport
internal import TestedBackEnds
internal import Testing

/// MQTT against mosquitto, with paho at its other side.
@Suite(.overSomeBackEnd, .timeLimit(.minutes(2)))
struct MosquittoTests {
    @Test
    func `a retained message comes later, either way, and not again after a reconnect`() async throws {
        try await Broker.run(.mosquitto) { broker in
            let language = MQTTMessageProtocol { $0.retainedEvents = ["peer/describe/kept"] }
            let sender = try broker.connect(language)
            let described = try sender.journal("client/described")
            try await sender.up()
            try sender.send("peer/describe/kept", "ours")
            try sender.send("peer/describe/lost", "not kept")
            try await sender.settle()
            try await broker.withPeer(of: .mosquitto) {
                let text = try #require(try await described.first(1)[0].payload[0])
                #expect(text["topic"]?.string == "peer/describe/kept")
                #expect(text["retain"]?.bool == true)
                try sender.send("peer/retain/news", "theirs")
                try await eventually("it is kept") {
                    let late = try broker.connect(language)
                    let kept = try late.journal("client/kept/news")
                    try await late.up()
                    try await late.settle()
                    return try kept.entries.first?.decode(String.self) == "theirs"
                }
            }
            try await broker.withRelay { relay in
                let late = try broker.connect(language, through: relay)
                let kept = try late.journal("client/kept/news")
                try await late.up()
                _ = try await kept.first(1)
                // Otherwise the acknowledgement may be lost, and the message comes twice with reason.
                try await late.settle()
                let changes = late.changes()
                try await relay.restart()
                try await changes.first { $0.continuity == .continuous }
                try await late.settle()
                #expect(kept.entries.count == 1)
            }
        }
    }

    @Test
    func `a will arrives when the link is cut, and does not when it is closed`() async throws {
        try await Broker.run(.mosquitto) { broker in
            let other = try broker.connect(.mqtt)
            let wills = try other.journal("client/will")
            try await other.up()
            try await broker.withPeer(of: .mosquitto) {
                try await broker.withRelay { relay in
                    for (topic, isCut) in [("wills/closed", false), ("wills/cut", true)] {
                        let language = MQTTMessageProtocol { $0.will = .init(topic, .empty) }
                        let one = try broker.connect(language, through: relay)
                        try await one.up()
                        if isCut {
                            await relay.stop()
                        } else {
                            let changes = one.changes()
                            try one.disconnect()
                            try await changes.first { $0.to == .disconnected }
                        }
                    }
                }
                #expect(try await wills.first(1)[0].payload[0]?["topic"]?.string == "wills/cut")
            }
        }
    }

    @Test
    func `a will with a delay is not sent for somebody who is back before it`() async throws {
        try await Broker.run(.mosquitto) { broker in
            let (other, will) = (try broker.connect(.mqtt), try Payload(1, "two"))
            let wills = try other.journal("wills/+")
            try await other.up()
            try await other.settle()
            try await broker.withRelay { relay in
                let back = try broker.connect(
                    MQTTMessageProtocol { $0.will = .init("wills/back", .empty, delay: .seconds(1)) }, through: relay)
                let gone = try broker.connect(
                    MQTTMessageProtocol { $0.will = .init("wills/gone", will, delay: .seconds(3)) }, through: relay
                ) { $0.retry = .never }
                for connection in [back, gone] { try await connection.up() }
                try await relay.restart()
                #expect(try await wills.first(1)[0].payload == Payload(1, "two", "wills/gone"))
                #expect(back.status.state == .connected)
            }
        }
    }

    @Test
    func `a delivery is seen with quality 1 and its key, a sent message with quality 0`() async throws {
        try await Broker.run(.mosquitto) { broker in
            let connection = try broker.connect(.mqtt)
            let described = try connection.journal("client/described")
            try await connection.up()
            try await broker.withPeer(of: .mosquitto) {
                try connection.send("peer/describe/sent", 1)
                try await connection.deliver("peer/describe/delivered", 1, 2, key: "k7")
                let texts = try await described.first(2).map { try #require($0.payload[0]) }
                #expect(texts.map { $0["qos"]?.int } == [0, 1])
                #expect(texts.map { $0["user"]?["key"]?.string } == [nil, "k7"])
                #expect(texts.map { $0["user"]?["arguments"]?.string } == [nil, "2"])
            }
        }
    }

    @Test(arguments: [0, 3, 100])
    func `more topics than aliases arrive under their own names`(_ most: Int) async throws {
        try await Broker.run(.mosquitto, "--setting", "max_topic_alias \(most)") { broker in
            let connection = try broker.connect(.mqtt)
            let heard = try connection.journal("t/#")
            try await connection.up()
            for round in 0..<3 { for topic in 0..<8 { try connection.send("t/\(topic)", round) } }
            let messages = try await heard.first(24).map { ($0.payload[0]?.int, $0.payload[1]?.string) }
            let expected = (0..<24).map { ($0 / 8, "t/\($0 % 8)") }
            #expect(zip(messages, expected).allSatisfy { $0.0 == $1.0 && $0.1 == $1.1 }, "\(messages)")
        }
    }

    @Test(arguments: [MQTTMessageProtocol.Version.v5, .v3])
    func `listeners whose filters overlap hear a message once each`(_ version: MQTTMessageProtocol.Version) async throws
    {
        try await Broker.run(.mosquitto) { broker in
            let connection = try broker.connect(MQTTMessageProtocol { $0.version = version })
            let filters = ["rooms/blue/said", "rooms/+/said", "rooms/#", "+/blue/#", "#"]
            let journals = try filters.map { try connection.journal($0) }
            try await connection.up()
            try connection.send("rooms/blue/said", "hello")
            for journal in journals { #expect(try await journal.first(1)[0].payload[0]?.string == "hello") }
            try await connection.settle()
            let counts = journals.map { $0.entries.count { $0.payload[0]?.string == "hello" } }
            #expect(counts == [1, 1, 1, 1, 1])
        }
    }

    @Test
    func `members of a shared subscription hear each message once between them`() async throws {
        try await Broker.run(.mosquitto) { broker in
            let (heard, sender) = (Journal<Int>("jobs"), try broker.connect(.mqtt))
            let members = try (0..<2).map { _ in try broker.connect(.mqtt) }
            let counts = Lock([0, 0])
            for (index, member) in members.enumerated() {
                _ = try member.on("$share/workers/jobs/+") { message in
                    counts.withLock { $0[index] += 1 }
                    heard.append(message.payload[0]?.int ?? -1)
                }
                try await member.up()
                try await member.settle()
            }
            try await sender.up()
            for number in 0..<40 { try await sender.deliver("jobs/\(number % 3)", number) }
            let numbers = try await heard.first(40)
            for member in members { try await member.settle() }
            #expect(numbers.sorted() == Array(0..<40))
            #expect(heard.entries.count == 40)
            #expect(counts.withLock { $0.allSatisfy { $0 > 0 } })
        }
    }

    @Test
    func `3_1_1 sends, listens and delivers, and refuses requests`() async throws {
        try await Broker.run(.mosquitto) { broker in
            let connection = try broker.connect(MQTTMessageProtocol { $0.version = .v3 })
            let (exact, wild) = (try connection.journal("a/b"), try connection.journal("a/+"))
            try await connection.up()
            try connection.send("a/b", 1)
            try await connection.deliver("a/b", 2)
            try connection.send("a/c", 3)
            #expect(try await exact.first(2).map { try $0.decode(Int.self) } == [1, 2])
            #expect(try await wild.first(3).map { $0.payload[1]?.string } == ["a/b", "a/b", "a/c"])
            let error = await #expect(throws: LinkspanError.self) { try await connection.request("a/b", 1) }
            #expect(error?.code == .encodingFailed)
            #expect(connection.status.link?.facts["broker"] == "MQTT 3.1.1")
        }
    }

    private static let kept = [
        MQTTMessageProtocol(),
        MQTTMessageProtocol { $0.clientID = "one" },
        MQTTMessageProtocol {
            $0.version = .v3
            $0.clientID = "one"
        },
    ]

    @Test(arguments: Self.kept)
    func `messages sent while the link is cut arrive afterwards, also for filters`(
        _ language: MQTTMessageProtocol
    ) async throws {
        try await Broker.run(.mosquitto) { broker in
            try await broker.withRelay { relay in
                let (one, other) = (try broker.connect(language, through: relay), try broker.connect(.mqtt))
                let items = Journal<String>("messages and marks")
                let (rooms, news) = (try one.events("rooms/+/said"), try one.events("news"))
                let reading = [rooms, news].map { stream in
                    Task {
                        for await item in stream.items {
                            switch item {
                            case .message(let message): items.append(message.payload[0]?.string ?? "")
                            case .continuity(let mark): items.append("\(mark)")
                            }
                        }
                    }
                }
                defer { for task in reading { task.cancel() } }
                try await one.up()
                try await other.up()
                try await one.settle()
                try await broker.withPeer(of: .mosquitto) {
                    try await other.deliver("rooms/blue/said", "before")
                    _ = try await items.first(1)
                    await relay.stop()
                    try await eventually("it is down") { one.status.state != .connected }
                    let told = try other.journal("told")
                    for number in 0..<5 {
                        try other.send("peer/say/rooms/\(number)/said", "room \(number)")
                        try other.send("peer/say/news", "news \(number)")
                    }
                    try other.send("peer/say/told", "all")
                    _ = try await told.first(1)
                    try await relay.start()
                }
                let expected = (0..<5).flatMap { ["room \($0)", "news \($0)"] }
                let all = try await items.entries { Set(expected).isSubset(of: $0) && $0.count >= 13 }
                try await one.settle()
                #expect(items.entries == all)
                #expect(all.count { $0 == "\(Continuity.continuous)" } == 2, "\(all)")
                for prefix in ["room", "news"] {
                    #expect(all.filter { $0.hasPrefix(prefix) } == expected.filter { $0.hasPrefix(prefix) })
                }
            }
        }
    }

    @Test
    func `what an access list does not allow fails at once or is logged, and the link stays up`() async throws {
        try await Broker.run(.mosquitto, "--allow", "open/#") { broker in
            let connection = try broker.connect(.mqtt)
            let (end, changes) = (try connection.journal("open/end"), connection.changes())
            _ = try connection.journal("closed")
            try await connection.up()
            // Nobody may listen to the topic for replies.
            let refused: [(Command.Kind, String, LinkspanError.Code)] = [
                (.deliver(orderingKey: ""), "closed", .messageRefused), (.request, "open/question", .refused),
            ]
            for (kind, event, code) in refused {
                let outcome = Journal<Result<Payload, LinkspanError>>("the outcome")
                try connection.perform(Command(kind, event: event, payload: .empty) { outcome.append($0) })
                let first = try await outcome.first(1)[0]
                let error = #expect(throws: LinkspanError.self) { try first.get() }
                #expect(error?.code == code)
            }
            try connection.send("open/end")
            try await end.first(1)
            #expect(changes.entries.allSatisfy { $0.reason.error == nil })
        }
    }

    @Test(arguments: ["retain_available false", "max_qos 0"])
    func `a delivery that the broker has said it does not take is refused here, and the link stays up`(
        _ setting: String
    ) async throws {
        try await Broker.run(.mosquitto, "--setting", setting) { broker in
            let connection = try broker.connect(MQTTMessageProtocol { $0.retainedEvents = ["kept"] })
            let (end, changes) = (try connection.journal("end"), connection.changes())
            try await connection.up()
            let error = await #expect(throws: LinkspanError.self) {
                try await connection.deliver("kept", 1, timeout: .seconds(20))
            }
            #expect(error?.code == .unsupported)
            try connection.send("end")
            try await end.first(1)
            #expect(changes.entries.allSatisfy { $0.reason.error == nil })
        }
    }

    @Test
    func `a request that nobody hears times out`() async throws {
        try await Broker.run(.mosquitto) { broker in
            let connection = try broker.connect(.mqtt)
            try await connection.up()
            let error = await #expect(throws: LinkspanError.self) {
                try await connection.request("nobody", 1, timeout: .milliseconds(200))
            }
            #expect(error?.code == .timedOut)
            #expect(connection.status.state == .connected)
        }
    }

    @Test
    func `a message larger than the link takes does not come, and the next one does`() async throws {
        try await Broker.run(.mosquitto) { broker in
            let (one, other) = (try broker.connect(.mqtt, maximumBytes: 65_536), try broker.connect(.mqtt))
            let (heard, changes) = (try one.journal("news"), one.changes())
            try await one.up()
            try await one.settle()
            try await other.up()
            try await other.deliver("news", String(repeating: "x", count: 100_000))
            try await other.deliver("news", "short")
            #expect(try await heard.first(1)[0].payload == Payload("short"))
            #expect(changes.entries.allSatisfy { $0.reason.error == nil })
        }
    }

    @Test(arguments: [MQTTMessageProtocol.Version.v5, .v3])
    func `without a session expiry a reconnect leaves a gap, and listeners hear again`(
        _ version: MQTTMessageProtocol.Version
    ) async throws {
        try await Broker.run(.mosquitto) { broker in
            try await broker.withRelay { relay in
                let language = MQTTMessageProtocol {
                    $0.version = version
                    $0.clientID = "one"
                    $0.sessionExpiry = .zero
                }
                let (connection, other) = (try broker.connect(language, through: relay), try broker.connect(.mqtt))
                let (changes, heard) = (connection.changes(), try connection.journal("news"))
                try await connection.up()
                try await connection.settle()
                try await other.up()
                await relay.stop()
                try await eventually("it is down") { connection.status.state != .connected }
                try await other.deliver("news", 0)
                try await relay.start()
                let back = try await changes.first { $0.continuity != nil }
                #expect(back.continuity == .gap(.reconnected))
                try await connection.settle()
                try connection.send("news", 1)
                #expect(try await heard.first(1)[0].payload == Payload(1))
            }
        }
    }

    @Test
    func `a broker that is stopped ends the link by its heartbeat`() async throws {
        try await Broker.run(.mosquitto) { broker in
            let language = MQTTMessageProtocol { $0.keepAlive = .seconds(1) }
            let connection = try broker.connect(language, keepAlive: nil)
            let changes = connection.changes()
            try await connection.up()
            try broker.signal(SIGSTOP)
            let lost = try await changes.first { $0.reason.error != nil }
            #expect(lost.reason.error?.code == .heartbeatMissed)
            try broker.signal(SIGCONT)
            try await changes.first { $0.continuity != nil }
        }
    }

    @Test
    func `a thousand deliveries at once are acknowledged, as many at a time as the broker takes`() async throws {
        try await Broker.run(.mosquitto, "--setting", "max_inflight_messages 7") { broker in
            let connection = try broker.connect(.mqtt)
            let (heard, changes) = (try connection.journal("jobs/+"), connection.changes())
            try await connection.up()
            try await withThrowingTaskGroup { group in
                for number in 0..<1_000 {
                    group.addTask {
                        _ = try await connection.deliver("jobs/\(number % 5)", number, timeout: .seconds(60))
                    }
                }
                try await group.waitForAll()
            }
            let numbers = try await heard.first(1_000).compactMap { $0.payload[0]?.int }
            #expect(numbers.sorted() == Array(0..<1_000))
            #expect(changes.entries.allSatisfy { $0.reason.error == nil })
        }
    }
}
