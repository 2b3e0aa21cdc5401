internal import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("The scripted transport")
struct ScriptedTransportTests {
    private let scheduler = VirtualScheduler()

    private func open(_ script: LinkScript) throws -> (ScriptedTransport, any Link, Ear) {
        let transport = ScriptedTransport(scheduler: self.scheduler) { _ in script }
        transport.serveEcho()
        let ear = Ear()
        let link = transport.makeLink(LinkRequest(url: try ConnectionURL("scripted://server")), receiver: ear)
        link.open()
        self.scheduler.settle()
        return (transport, link, ear)
    }

    private func echo(_ number: Int = 1) -> OutboundMessage {
        OutboundMessage(event: "echo", payload: .json("\(number)"), requestID: nil)
    }

    @Test
    func `a perfect link echoes, and the traffic is on record with its time`() throws {
        let (transport, link, ear) = try self.open(.perfect)
        self.scheduler.advance(by: .seconds(3))
        #expect(link.send(self.echo()) == .accepted)
        self.scheduler.settle()
        #expect(ear.heard == ["opened", "echo 1"])
        #expect(transport.sent.map(\.link) == [1])
        #expect(transport.sent.map(\.time) == [.seconds(3)])
        #expect(transport.received.count == 1)
    }

    @Test
    func `a hanging link never opens and can be aborted`() throws {
        let (_, link, ear) = try self.open(.hanging)
        self.scheduler.advance(by: .seconds(600))
        #expect(ear.heard.isEmpty)
        link.abort()
        self.scheduler.settle()
        #expect(ear.heard == ["closed connectionLost"])
    }

    @Test
    func `a refused link ends with its error`() throws {
        let (_, _, ear) = try self.open(.refusing(LinkspanError(.tlsFailed, "not trusted")))
        #expect(ear.heard == ["closed tlsFailed"])
    }

    @Test
    func `a half-open link takes everything and delivers nothing`() throws {
        let (transport, link, ear) = try self.open(.init { $0.isHalfOpenAfter = .seconds(1) })
        #expect(link.send(self.echo(1)) == .accepted)
        self.scheduler.advance(by: .seconds(1))
        #expect(link.send(self.echo(2)) == .accepted)
        self.scheduler.advance(by: .seconds(60))
        #expect(ear.heard == ["opened", "echo 1"])
        #expect(transport.received.count == 1)
    }

    @Test
    func `a dropped link loses what is under way, unless that outlives it`() throws {
        for outlives in [false, true] {
            let (transport, link, ear) = try self.open(
                .init {
                    $0.delayToServer = { .seconds(2) }
                    $0.dropsAfter = .seconds(1)
                    $0.outlivesDrop = outlives
                })
            _ = link.send(self.echo())
            self.scheduler.advance(by: .seconds(5))
            #expect(ear.heard == ["opened", "closed connectionLost"])
            #expect(transport.received.count == (outlives ? 1 : 0))
            #expect(link.send(self.echo()) == .refused)
        }
    }

    @Test
    func `random delays keep the order within a link`() throws {
        let generator = Lock(SeededGenerator(seed: 5))
        let delay: @Sendable () -> Duration = {
            .milliseconds(generator.withLock { Int.random(in: 0...500, using: &$0) })
        }
        let (_, link, ear) = try self.open(
            .init {
                $0.delayToServer = delay
                $0.delayToClient = delay
            })
        self.scheduler.advance(by: .seconds(1))
        for number in 1...50 { _ = link.send(self.echo(number)) }
        self.scheduler.advance(by: .seconds(10))
        #expect(ear.heard == ["opened"] + (1...50).map { "echo \($0)" })
    }

    @Test
    func `a slow reader fills the link, and room is announced once it has read`() throws {
        let (transport, link, ear) = try self.open(.init { $0.capacity = 2 })
        #expect(link.send(self.echo(1)) == .accepted)
        #expect(link.send(self.echo(2)) == .acceptedAndFull)
        self.scheduler.settle()
        #expect(transport.received.isEmpty)
        transport.peers.first?.read(1)
        self.scheduler.settle()
        #expect(ear.heard == ["opened", "echo 1", "writable"])
        #expect(link.hasPendingBytes)
        transport.peers.first?.read()
        #expect(!link.hasPendingBytes)
        self.scheduler.settle()
        #expect(ear.heard == ["opened", "echo 1", "writable", "echo 2"], "it had room already")
        #expect(link.send(self.echo(3)) == .accepted)
        #expect(link.send(self.echo(4)) == .acceptedAndFull)
        self.scheduler.settle()
        transport.peers.first?.read()
        self.scheduler.settle()
        #expect(ear.heard.suffix(3) == ["echo 3", "echo 4", "writable"])
    }

    @Test
    func `replies are duplicated as the script says`() throws {
        let (_, link, ear) = try self.open(.init { $0.copiesOfReplies = 2 })
        _ = link.send(OutboundMessage(event: "req", payload: .empty, requestID: 4))
        self.scheduler.settle()
        #expect(ear.heard == ["opened", "reply 4", "reply 4"])
    }
}

/// Writes down what a link says.
private final class Ear: LinkReceiver {
    private let state = Lock<[String]>([])

    var heard: [String] { self.state.withLock { $0 } }

    func receive(_ next: () -> LinkEvent?) {
        while let event = next() {
            let text =
                switch event {
                case .opened: "opened"
                case .message(let message): "\(message.event) \(message.payload.text)"
                case .reply(let id, _): "reply \(id)"
                case .failed: "failed"
                case .changed: "changed"
                case .writable: "writable"
                case .closed(let error): "closed \(error.code.rawValue)"
                }
            self.state.withLock { $0.append(text) }
        }
    }
}
