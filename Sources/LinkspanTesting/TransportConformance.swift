internal import Linkspan

/// Checks of the contract of ``/Linkspan/Transport``, to run over any implementation.
///
/// ```swift
/// @Test(arguments: TransportConformance.Check.allCases)
/// func `the loopback conforms`(check: TransportConformance.Check) async throws {
///     try await TransportConformance.run(check, over: LoopbackFixture())
/// }
/// ```
public enum TransportConformance {
    /// One promise.
    public struct Check: Sendable, CaseIterable, CustomStringConvertible {
        /// The promise in a few words.
        public let description: String
        fileprivate let perform: @Sendable (ConformanceRun) async throws -> Void

        private init(_ promise: String, _ perform: @escaping @Sendable (ConformanceRun) async throws -> Void) {
            self.description = promise
            self.perform = perform
        }

        /// A promise of a link that is open.
        private init(
            ofLink promise: String,
            _ perform: @escaping @Sendable (ConformanceRun, ConformanceRun.Line) async throws -> Void
        ) {
            self.init(promise) { run in try await perform(run, try await run.openLine()) }
        }

        /// Every promise.
        public static let allCases = Self.traffic + Self.opening + Self.ending
    }

    /// Runs one check.
    ///
    /// - Parameters:
    ///   - check: the promise.
    ///   - fixture: the transport and its peer.
    /// - Throws: an error that says which promise is broken, and how.
    public static func run(_ check: Check, over fixture: some TransportFixture) async throws {
        let run = ConformanceRun(fixture: fixture)
        do {
            try await check.perform(run)
            try run.conclude()
        } catch {
            throw ConformanceFailure("\(check): \(error)")
        }
    }
}

extension TransportConformance.Check {
    private static let traffic: [Self] = [
        // `opened` comes once, before everything else.
        Self(ofLink: "opens once before anything else") { _, line in
            line.open()
            try await line.send("echo", .text("1"))
            _ = try await line.probe.messages("echo")
        },
        // A thousand events come back in order.
        Self(ofLink: "keeps the order of events") { run, line in
            for number in 0..<1_000 { try await line.send("echo", .text("\(number)")) }
            let messages = try await line.probe.messages("echo", 1_000)
            try run.expect(messages.map(\.payload.text) == (0..<1_000).map { "\($0)" }, "the order was not kept")
        },
        // A thousand events of the server come in order, and the reply after them.
        Self(ofLink: "keeps the order of a flood") { run, line in
            try await line.send("flood", .text(#"{"n":1000,"bytes":100}"#), id: 0)
            let reply = try await line.probe.reply(to: 0)
            try run.expect(reply.text == "1000", "the reply is \(reply.text)")
            let numbers = line.probe.events.messages("item").map { $0.payload[0]?["id"]?.int }
            let what = "of 1000 events \(numbers.count) came before the reply behind them"
            try run.expect(numbers == Array(0..<1_000), numbers.count == 1_000 ? "the order was not kept" : what)
        },
        // Requests are answered, each with its own reply.
        Self(ofLink: "brings replies to requests") { run, line in
            for id in 0..<100 { try await line.send("req", .text("\(id),\"reply\""), id: UInt64(id)) }
            for id in 0..<100 {
                let reply = try await line.probe.reply(to: UInt64(id))
                try run.expect(reply.text == "\(id),\"reply\"", "request \(id) got the reply \(reply.text)")
            }
        },
        // The server's questions are answered.
        Self(ofLink: "takes answers to questions") { run, line in
            line.probe.onEvent { event in
                guard case .message(let message) = event, message.event == "question", let id = message.replyID else {
                    return
                }
                let answer = Payload.text("\"answer to \",\(message.payload.text)")
                line.call { $0.reply(to: id, with: answer) }
            }
            try await line.send("ask", .text("42"))
            let answered = try await line.probe.messages("answered")
            try run.expect(
                answered.first?.payload.text == "\"answer to \",42", "the answer arrived otherwise than it was given")
        },
        // Blobs travel both ways.
        Self(ofLink: "carries binary both ways") { run, line in
            let blobs: [ArraySlice<UInt8>] = [[1, 2, 3], Array(0...255)[...], Array(repeating: 0, count: 70_000)[...]]
            try await line.send("binary3", .blobs(blobs), id: 7)
            let reply = try await line.probe.reply(to: 7)
            try run.expect(reply.blobs == blobs.reversed(), "the reply's blobs are not those that are due")
            let message = try await line.probe.messages("binary3").first
            try run.expect(message?.payload.blobs == blobs.reversed(), "the event's blobs are not those that are due")
        },
        // No argument, several arguments and every kind of character survive.
        Self(ofLink: "carries arguments unchanged") { run, line in
            let samples = [
                "", "null", "1,2,3", #""a","b""#, #"{"a":[1,{"b":null}]},[],{}"#, "\"\u{1F6A2} Zürich 渡し船\"",
                #""quote \" backslash \\ newline \n tab \t""#, "true,false,-1,1.5",
            ]
            for (id, sample) in samples.enumerated() {
                try await line.send("req", .text(sample), id: UInt64(id))
                let reply = try await line.probe.reply(to: UInt64(id))
                try run.expect(reply.isSame(as: .text(sample)), "\(sample) came back as \(reply.text)")
            }
        },
        // Messages of 1 MiB travel both ways.
        Self(ofLink: "carries large messages") { run, line in
            let text = "\"" + String(repeating: "0123456789abcdef", count: 1 << 16) + "\""
            try await line.send("req", .text(text), id: 0)
            let reply = try await line.probe.reply(to: 0)
            try run.expect(reply.text == text, "a text of 1 MiB came back changed")
            let blob = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) }[...]
            try await line.send("binary3", .blobs([blob, [], [1]]), id: 1)
            let blobs = try await line.probe.reply(to: 1).blobs
            try run.expect(blobs == [[1], [], blob], "a blob of 1 MiB came back changed")
        },
        // Links of one transport do not mix.
        Self("keeps links apart") { run in
            let one = try await run.openLine()
            let other = try await run.openLine()
            try await one.send("echo", .text("1"))
            try await other.send("echo", .text("2"))
            let fromOne = try await one.probe.messages("echo").map(\.payload.text)
            let fromOther = try await other.probe.messages("echo").map(\.payload.text)
            try run.expect(fromOne == ["1"] && fromOther == ["2"], "messages went to the wrong link")
            one.abort()
            _ = try await one.probe.end()
            try await other.send("echo", .text("3"))
            _ = try await other.probe.messages("echo", 2)
        },
    ]
}

extension TransportConformance.Check {
    private static let opening: [Self] = [
        // The auth payload reaches the server.
        Self(ofLink: "shows credentials") { run, line in
            try await line.send("whoami", id: 0)
            let reply = try await line.probe.reply(to: 0)
            let due = run.fixture.request.credentials.auth ?? .text("null")
            try run.expect(reply.isSame(as: due), "the server saw other credentials than were shown")
        },
        // Refused credentials end the link with code `credentialsRefused`.
        Self("reports refused credentials") { run in
            guard let request = run.fixture.refusedRequest else { return }
            let line = run.makeLine(request)
            line.open()
            try await run.expectEnd(of: line, "credentialsRefused") { $0.code == .credentialsRefused }
            try run.expect(!line.probe.events.isOpened, "the link opened first")
        },
        // Events that the server emits before it accepts follow `opened`, in order.
        Self("holds early events") { run in
            guard let request = run.fixture.earlyRequest else { return }
            let line = run.makeLine(request)
            line.open()
            let early = try await line.probe.messages("early", 3)
            try run.expect(early.map(\.payload.text) == ["1", "2", "3"], "early events came in another order")
        },
        // A link to an address without a listener ends with a code that allows another attempt.
        Self("reports unreachable peers") { run in
            guard let request = run.fixture.unreachableRequest else { return }
            let line = run.makeLine(request)
            line.open()
            try await run.expectEnd(of: line, "a code that allows another attempt") { !$0.isPermanent }
        },
        // Before it is open a link refuses sends.
        Self("refuses sends before opening") { run in
            let line = run.makeLine()
            let message = OutboundMessage(event: "echo", payload: .text("0"))
            let early = await line.attempt(message)
            try run.expect(early == .refused, "a send before open() was not refused")
            line.open()
            try await line.probe.wait(for: "opened") { $0.isOpened }
            try await line.send("echo", .text("1"))
            let echoes = try await line.probe.messages("echo").map(\.payload.text)
            try run.expect(echoes == ["1"], "a refused message was sent after all")
        },
    ]
}

extension TransportConformance.Check {
    private static let ending: [Self] = [
        // `close` sends all accepted messages, and ends the link exactly once.
        Self(ofLink: "closes politely") { run, line in
            line.close()
            line.close()
            line.abort()
            try await run.expectEnd(of: line, "connectionLost") { !$0.isPermanent }
        },
        // `abort` ends the link exactly once, at any moment, also from inside the receiver.
        Self("aborts at any moment") { run in
            let early = run.makeLine()
            early.abort()
            early.open()
            _ = try await early.probe.end()
            try run.expect(!early.probe.events.isOpened, "an aborted link opened")

            let opening = run.makeLine()
            opening.open()
            opening.abort()
            _ = try await opening.probe.end()

            let inside = run.makeLine()
            inside.probe.onEvent { event in
                if case .opened = event { inside.abort() }
            }
            inside.open()
            _ = try await inside.probe.end()

            for count in [1, 10, 100] {
                let line = try await run.openLine()
                line.probe.onEvent { event in
                    if case .message = event { line.abort() }
                }
                for number in 0..<count { try await line.sendAnyhow("echo", .text("\(number)")) }
                _ = try await line.probe.end()
            }
        },
        // After its end a link refuses sends and ignores replies.
        Self(ofLink: "refuses sends after the end") { run, line in
            line.abort()
            _ = try await line.probe.end()
            let acceptance = await line.attempt(OutboundMessage(event: "echo", payload: .text("0"), requestID: 0))
            try run.expect(acceptance == .refused, "a send after the end was \(acceptance)")
            line.call { $0.reply(to: 1, with: .empty) }
            line.abort()
            line.close()
        },
        // A server that ends the link on purpose is understood.
        Self(ofLink: "reports kicks") { run, line in
            try await line.send("kick")
            let tellsKicks = run.fixture.tellsKicks
            try await run.expectEnd(of: line, "closedByServer") { !tellsKicks || $0.code == .closedByServer }
        },
        // A lost link is reported, with a code that allows another attempt.
        Self(ofLink: "reports losses") { run, line in
            try await line.send("kill_engine")
            try await run.expectEnd(of: line, "a code that allows another attempt") { !$0.isPermanent }
        },
    ]
}
