@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Logging
internal import Testing

@Suite("Endpoints", .timeLimit(.minutes(1)))
struct EndpointTests {
    private static let three = Endpoints(urls: ["scripted://b", "scripted://c"])

    /// A connection to `scripted://server`, with b and c behind it; hosts in `down` refuse with an error.
    private func harness(
        _ endpoints: Endpoints = Self.three, random: @escaping @Sendable () -> Double = { 0.5 }, down: Hosts = Hosts(),
        options: @escaping (inout ConnectionOptions) -> Void = { _ in }
    ) throws -> Harness {
        let harness = try Harness(
            random: random,
            options: {
                $0.endpoints = endpoints
                options(&$0)
            }, script: { _ in .perfect })
        harness.transport.onConnect { peer throws(LinkspanError) in
            if let error = down[peer.request.url.host] { throw error }
        }
        harness.transport.onMessage { $0.reply($0.payload) }
        return harness
    }

    private func hosts(_ harness: Harness) -> [String] { harness.peers.map { $0.request.url.host } }

    @Test(arguments: [
        LinkspanError.lost, .permanent, LinkspanError(.serverUnavailable, "busy", retryAfter: .seconds(200)),
    ])
    func `when the first is down or refuses, the next is tried soon`(error: LinkspanError) throws {
        let harness = try self.harness(down: Hosts(["server": error, "b": error]))
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(4))
        #expect(self.hosts(harness) == ["server", "b", "c"])
        #expect(harness.connection.state == .connected)
        #expect(harness.connection.status.endpoint.host == "c")
        #expect(harness.connection.status.url.host == "server")
        #expect(
            harness.connection.explain().contains(
                "It uses endpoint 3 of 3, scripted://c/ (ordered), and returns to scripted://server/ in"))
    }

    @Test
    func `rounds begin with the first, and the waits grow with the rounds`() throws {
        let all = Hosts(["server": .lost, "b": .lost, "c": .lost])
        let harness = try self.harness(down: all)
        let starts = Lock<[Moment]>([])
        harness.transport.onConnect { peer throws(LinkspanError) in
            starts.withLock { $0.append(harness.scheduler.moment) }
            if let error = all[peer.request.url.host] { throw error }
        }
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(60))
        let hosts = self.hosts(harness)
        #expect(hosts.prefix(9) == ["server", "b", "c", "server", "b", "c", "server", "b", "c"])
        let waits = starts.withLock { zip($0, $0.dropFirst()).map { $0.duration(to: $1) } }
        let (spacing, second, third) = (Duration.seconds(1), Duration.seconds(3), Duration.milliseconds(3_750))
        #expect(waits.prefix(9) == [spacing, spacing, spacing, spacing, spacing, second, spacing, spacing, third])
        all.set([:])
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.connection.state == .connected)
    }

    @Test
    func `all endpoints share one limit of attempts`() throws {
        let all = Hosts(["server": .lost, "b": .lost, "c": .lost])
        let harness = try self.harness(down: all) { $0.retry = .backoff(limit: 4) }
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(600))
        #expect(harness.connection.state == .disconnected)
        #expect(self.hosts(harness).count == 5)
    }

    @Test
    func `without retries there is no other endpoint`() throws {
        let harness = try self.harness(down: Hosts(["server": .lost])) { $0.retry = .never }
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(60))
        #expect(self.hosts(harness) == ["server"])
        #expect(harness.connection.state == .disconnected)
    }

    @Test
    func `endpoints that all refuse for good end the attempts, and connect begins anew with the first`() throws {
        let all = Hosts(["server": .permanent, "b": .permanent, "c": .permanent])
        let harness = try self.harness(down: all)
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(60))
        #expect(self.hosts(harness) == ["server", "b", "c"])
        #expect(harness.connection.state == .disconnected)
        all.set([:])
        try harness.connection.connect()
        harness.scheduler.settle()
        #expect(self.hosts(harness).last == "server")
        #expect(harness.connection.state == .connected)
    }

    @Test
    func `one that refuses for good is left out until the connection is up`() throws {
        let down = Hosts(["server": .permanent, "b": .lost, "c": .lost])
        let harness = try self.harness(down: down)
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(30))
        #expect(self.hosts(harness).prefix(5) == ["server", "b", "c", "b", "c"])
    }

    @Test
    func `the last of a round that refuses for good does not end the attempts at the others`() throws {
        let harness = try self.harness(down: Hosts(["server": .lost, "b": .lost, "c": .permanent]))
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(30))
        #expect(self.hosts(harness).prefix(5) == ["server", "b", "c", "server", "b"])
    }

    @Test
    func `the way back is tried at sixteen times its interval at most, and is put off for less than a minute`() throws {
        let urls = try ["scripted://a", "scripted://b"].map { try ConnectionURL($0) }
        let rules = Endpoints(urls: [urls[1].text], returnAfter: .seconds(10))
        var rotation = try #require(EndpointRotation(urls, rules, random: { 0 }))
        let start = Moment.now
        for factor in [1, 2, 4, 8, 16, 16, 16] {
            _ = rotation.fail(.lost)
            rotation.connected()
            let due = start + .seconds(10) * factor
            #expect(rotation.returnDeadline(since: start) == due)
            rotation.putOffReturn(since: start, now: due + .seconds(60))
            #expect(rotation.returnDeadline(since: start) == due)
            rotation.putOffReturn(since: start, now: due + .seconds(59))
            #expect(rotation.returnDeadline(since: start) == due + .seconds(60))
            rotation.beginReturn()
        }
        // The first is up again.
        rotation.connected()
        _ = rotation.fail(.lost)
        rotation.connected()
        #expect(rotation.returnDeadline(since: start) == start + .seconds(10))
    }

    @Test
    func `a way back that was put off is not put off for the next link`() throws {
        let urls = try ["scripted://a", "scripted://b"].map { try ConnectionURL($0) }
        let rules = Endpoints(urls: [urls[1].text], returnAfter: .milliseconds(100))
        var rotation = try #require(EndpointRotation(urls, rules, random: { 0 }))
        let start = Moment.now
        _ = rotation.fail(.lost)
        rotation.connected()
        rotation.putOffReturn(since: start, now: start + .milliseconds(100))
        #expect(rotation.returnDeadline(since: start) == start + .milliseconds(1_100))
        rotation.connected()
        #expect(rotation.returnDeadline(since: start + .milliseconds(200)) == start + .milliseconds(300))
    }

    @Test(arguments: [LinkspanError(.credentialsRefused, "who?"), LinkspanError(.closedByServer, "go away")])
    func `what the service says is no reason for another endpoint`(error: LinkspanError) throws {
        let harness = try self.harness(down: Hosts(["server": error]))
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(60))
        #expect(Set(self.hosts(harness)) == ["server"])
        #expect(harness.connection.state == .disconnected)
    }

    @Test
    func `a link that lasted is tried for again where it was, and one that did not is not`() throws {
        let down = Hosts(["server": .lost])
        let harness = try self.harness(down: down)
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(30))
        #expect(self.hosts(harness) == ["server", "b"])
        harness.peers.last?.drop()
        harness.scheduler.advance(by: .seconds(4))
        #expect(self.hosts(harness) == ["server", "b", "b"])
        harness.peers.last?.drop()
        harness.scheduler.advance(by: .seconds(8))
        #expect(self.hosts(harness) == ["server", "b", "b", "server", "c"])
    }

    @Test
    func `it returns to the first, not while a request is under way, and less often each time that fails`() throws {
        let down = Hosts(["server": .lost])
        let harness = try self.harness(Endpoints(urls: ["scripted://b"], returnAfter: .seconds(100)), down: down)
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(50))
        #expect(self.hosts(harness) == ["server", "b"])
        harness.scheduler.advance(by: .seconds(60))
        #expect(self.hosts(harness) == ["server", "b", "server", "b"])
        #expect(harness.connection.state == .connected)
        harness.scheduler.advance(by: .seconds(150))
        #expect(self.hosts(harness).count == 4, "the second way back comes after twice the time")
        harness.transport.onMessage { _ in }
        try harness.perform(.request, "slow", timeout: .seconds(70))
        down.set([:])
        harness.scheduler.advance(by: .seconds(55))
        #expect(self.hosts(harness).count == 4, "a request is under way")
        harness.scheduler.advance(by: .seconds(20))
        #expect(self.hosts(harness).last == "server")
        #expect(harness.connection.state == .connected)
        #expect(harness.failure("slow")?.code == .timedOut)
        harness.scheduler.advance(by: .seconds(2_000))
        #expect(self.hosts(harness).count == 5)
        #expect(harness.connection.status.history.last?.to == .connected)
    }

    @Test
    func `shuffled clients spread over the endpoints and stay where they are`() throws {
        var first: [String: Int] = [:]
        for seed in 0..<60 {
            let generator = Lock(SeededGenerator(seed: UInt64(seed)))
            let harness = try self.harness(
                Endpoints(urls: ["scripted://b", "scripted://c"], isShuffled: true, returnAfter: .seconds(10)),
                random: { generator.withLock { Double.random(in: 0..<1, using: &$0) } })
            try harness.connection.connect()
            harness.scheduler.advance(by: .seconds(600))
            #expect(self.hosts(harness).count == 1)
            first[self.hosts(harness)[0], default: 0] += 1
        }
        #expect(first.count == 3)
        #expect(first.values.allSatisfy { $0 > 8 }, "\(first)")
    }

    @Test
    func `unusable endpoints are refused when the connection is configured`() throws {
        let harness = PoolHarness()
        for url in ["nonsense", "https://b"] {
            let error = #expect(throws: LinkspanError.self) {
                try harness.configuration { $0.endpoints.urls = [url] }
            }
            #expect(error?.code == .invalidURL, "\(url)")
        }
        #expect(throws: LinkspanError.self) {
            try harness.configuration { $0.endpoints.returnAfter = .zero }
        }
    }

    @Test
    func `a list that changes keeps the endpoint in use`() throws {
        let harness = PoolHarness()
        let down = Hosts(["server": .lost])
        harness.transport.onConnect { peer throws(LinkspanError) in
            if let error = down[peer.request.url.host] { throw error }
        }
        let connection = try harness.connect { $0.endpoints.urls = ["scripted://b"] }
        harness.scheduler.advance(by: .seconds(5))
        #expect(connection.status.endpoint.host == "b")
        let conflict = #expect(throws: LinkspanError.self) { try harness.connect() }
        #expect(conflict?.message.contains("endpoints") == true)
        var options = ConnectionOptions()
        options.endpoints.urls = ["scripted://c", "scripted://b"]
        try harness.manager.adjust(connection, options)
        harness.scheduler.settle()
        #expect(connection.status.endpoint.host == "b")
        #expect(connection.state == .connected)
        #expect(connection.explain().contains("endpoint 3 of 3"))
    }
}

/// Hosts that refuse, and why.
private final class Hosts: Sendable {
    private let errors: Lock<[String: LinkspanError]>

    init(_ errors: [String: LinkspanError] = [:]) { self.errors = Lock(errors) }

    subscript(host: String) -> LinkspanError? { self.errors.withLock { $0[host] } }

    func set(_ errors: [String: LinkspanError]) { self.errors.withLock { $0 = errors } }
}
