internal import Linkspan
internal import LinkspanNetwork
internal import Testing

@testable import LinkspanSocketIO

/// A server lets no other session resume one that it counts as alive.
@Suite("Polling sessions that are lost")
struct LostPollingTests {
    private func opened(_ carriers: SocketIOCarriers = .polling) throws -> (EngineBench, EngineBench.Client) {
        let bench = EngineBench(carriers: carriers)
        let client = try bench.open("/a")
        bench.answerPoll(with: bench.handshake)
        bench.answerPost()
        bench.answerPoll(with: "40/a,{\"sid\":\"s\",\"pid\":\"P\"}\u{1E}42/a,[\"e\",\"O1\"]")
        return (bench, client)
    }

    @Test(arguments: [SocketIOCarriers.polling, .upgrade], [nil, 502, 504])
    func `are ended by their id before the loss is reported, so that the next one resumes them`(
        _ carriers: SocketIOCarriers, status: Int?
    ) throws {
        let (bench, client) = try self.opened(carriers)
        if let status { bench.refusePoll(status: status) } else { bench.cutPoll() }
        #expect(bench.requests.last == "POST 1")
        #expect(bench.stream?.request.target.contains("sid=e") == true)
        #expect(client.ends.isEmpty)
        #expect(bench.send("late", by: client).map { $0 == .refused } == true)
        bench.answerPost()
        #expect(client.ends == [status == nil ? .connectionLost : .serverUnavailable])
        #expect(bench.resumption(of: client) == #""P","O1""#)
    }

    @Test
    func `are lost after two seconds without an answer to that`() throws {
        let (bench, client) = try self.opened()
        bench.cutPoll()
        bench.loop.fireTimers(within: .seconds(2))
        #expect(client.ends == [.connectionLost])
        bench.answerPost()
        #expect(client.ends.count == 1)
    }

    @Test
    func `are lost at once when the server does not know them`() throws {
        let (bench, client) = try self.opened()
        bench.refusePoll(status: 400)
        #expect(client.ends == [.connectionLost])
        #expect(!bench.requests.contains("POST 1"))
    }
}

@Suite("POSTs that are too large")
struct LargePostTests {
    private func opened() throws -> (EngineBench, EngineBench.Client) {
        let bench = EngineBench(carriers: .polling)
        let client = try bench.open("/a")
        bench.answerPoll(with: bench.handshake)
        bench.answerPost()
        bench.answerPoll(with: #"40/a,{"sid":"s"}"#)
        return (bench, client)
    }

    /// The events of the newest POST.
    private func posted(_ bench: EngineBench) -> [String] {
        bench.requests.last?.dropFirst("POST ".count).split(separator: "\u{1E}").map {
            String($0.dropFirst(7).prefix(1))
        }
            ?? []
    }

    private func send(_ names: String..., bytes: Int, _ bench: EngineBench, _ client: EngineBench.Client) {
        bench.loop.enter {
            for name in names {
                let event = name + String(repeating: "x", count: bytes)
                _ = client.link?.send(OutboundMessage(event: event, payload: .empty))
            }
        }
    }

    @Test
    func `are not begun: one has at most 1 MB, or one message`() throws {
        let (bench, client) = try self.opened()
        self.send("a", "b", "c", "d", bytes: 300_000, bench, client)
        #expect(self.posted(bench) == ["a", "b", "c"])
        bench.answerPost()
        #expect(self.posted(bench) == ["d"])
        bench.answerPost()
        self.send("e", bytes: 1_200_000, bench, client)
        #expect(self.posted(bench) == ["e"])
    }

    @Test
    func `are halved after a 413, and nothing is lost`() throws {
        let (bench, client) = try self.opened()
        self.send("a", "b", "c", "d", "e", bytes: 200_000, bench, client)
        #expect(self.posted(bench) == ["a", "b", "c", "d"])
        bench.answerPost(status: 413)
        #expect(self.posted(bench) == ["a", "b"])
        bench.answerPost(status: 413)
        for name in ["a", "b", "c", "d", "e"] {
            #expect(self.posted(bench) == [name])
            bench.answerPost()
        }
        #expect(client.ends.isEmpty)
    }

    @Test
    func `end the link with the name of the one message, behind which the rest still leaves`() throws {
        let (bench, client) = try self.opened()
        bench.loop.enter {
            for event in ["a", "large", "z"] {
                let payload = event == "large" ? try? Payload(String(repeating: "x", count: 1_000)) : nil
                _ = client.link?.send(OutboundMessage(event: event, payload: payload ?? .empty))
            }
        }
        bench.answerPost(status: 413)
        #expect(bench.requests.last == #"POST 42/a,["a"]"#)
        bench.answerPost()
        bench.answerPost(status: 413)
        #expect(bench.send("late", by: client).map { $0 == .refused } == true)
        #expect(bench.requests.last == "POST 42/a,[\"z\"]\u{1E}1")
        bench.answerPost()
        #expect(client.ends == [.messageRefused])
        #expect(client.errors.first?.message == "the server, or a proxy, rejects 'large' for its size")
    }

    @Test
    func `stay the reason of the end when the next poll fails`() throws {
        let (bench, client) = try self.opened()
        bench.send("large", by: client)
        bench.answerPost(status: 413)
        bench.cutPoll()
        #expect(client.ends == [.messageRefused])
    }

    @Test
    func `end the link at once when it is an attachment, for which the server waits`() throws {
        let (bench, client) = try self.opened()
        bench.loop.enter {
            let placeholders = #"{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}"#
            let payload = Payload(trustedElements: bytes(placeholders), attachments: [bytes("123"), bytes("4")])
            for event in ["file", "z"] {
                _ = client.link?.send(OutboundMessage(event: event, payload: event == "z" ? .empty : payload))
            }
        }
        bench.answerPost(status: 413)
        #expect(bench.requests.last?.hasPrefix("POST 452-/a,[\"file\"") == true)
        bench.answerPost()
        for _ in 0..<2 { bench.answerPost(status: 413) }
        #expect(bench.requests.last == "POST 1")
        bench.answerPost()
        #expect(client.errors.first?.message == "the server, or a proxy, rejects 'file' for its size")
    }
}
