internal import LinkspanTesting
internal import Testing

@Suite("Connections with faults", .timeLimit(.minutes(1)))
struct FaultedConnectionTests {
    private typealias Arrival = (time: Duration, action: FaultedConnection.Action)

    /// Moves a clock from one due time to the next, until an end or until nothing is due.
    private func play(_ connection: inout FaultedConnection, until end: Duration = .seconds(60)) -> [Arrival] {
        var arrivals = connection.advance(to: .zero).map { (Duration.zero, $0) }
        while let due = connection.next, due <= end { arrivals += connection.advance(to: due).map { (due, $0) } }
        return arrivals
    }

    private func bytes(_ arrivals: [Arrival]) -> [UInt8] {
        arrivals.reduce(into: []) { if case .send(let bytes, _) = $1.action { $0 += bytes } }
    }

    private let text = (0..<20_000).map { UInt8(truncatingIfNeeded: $0) }

    @Test
    func `without phases bytes pass at once, and an end after them`() {
        var connection = FaultedConnection(FaultProfile(), seed: 1, number: 0)
        connection.receive([1, 2, 3], from: .client, at: .zero)
        connection.finish(from: .client, at: .zero)
        #expect(connection.advance(to: .zero) == [.send([1, 2, 3], to: .server), .finish(to: .server)])
        connection.finish(from: .server, at: .seconds(1))
        #expect(connection.advance(to: .seconds(1)) == [.finish(to: .client)])
        #expect(connection.isOver)
    }

    @Test
    func `a delay and a rate say when each byte arrives`() {
        let profile = FaultProfile { ($0.delay, $0.rate) = (.seconds(2), 1_460) }
        var connection = FaultedConnection(profile, seed: 1, number: 0)
        connection.receive(Array(self.text.prefix(4_380)), from: .server, at: .zero)
        let arrivals = self.play(&connection)
        #expect(arrivals.map(\.time) == [.seconds(3), .seconds(4), .seconds(5)])
        #expect(self.bytes(arrivals) == Array(self.text.prefix(4_380)))
    }

    @Test
    func `jitter and loss hold bytes up, in order and within their limits`() {
        let profile = FaultProfile { ($0.delay, $0.jitter, $0.loss) = (.milliseconds(10), .milliseconds(30), 0.2) }
        var connection = FaultedConnection(profile, seed: 5, number: 0)
        connection.receive(self.text, from: .client, at: .zero)
        let arrivals = self.play(&connection)
        #expect(self.bytes(arrivals) == self.text)
        #expect(arrivals.map(\.time) == arrivals.map(\.time).sorted())
        #expect((1...6).contains(connection.lostSegments))
        #expect(arrivals.allSatisfy { (.milliseconds(10)...(.milliseconds(260))).contains($0.time) })
        #expect((arrivals.last?.time ?? .zero) > .milliseconds(200))
    }

    @Test(arguments: FaultProfile.Ending.allCases)
    func `a cut passes exactly the bytes before it`(_ ending: FaultProfile.Ending) {
        let profile = FaultProfile { ($0.cut, $0.from, $0.ending) = (4_097, .server, ending) }
        var connection = FaultedConnection(profile, seed: 1, number: 0)
        connection.receive(self.text, from: .client, at: .zero)
        for start in stride(from: 0, to: 20_000, by: 1_000) {
            connection.receive(Array(self.text[start..<start + 1_000]), from: .server, at: .zero)
        }
        let actions = connection.advance(to: .zero)
        #expect(actions.dropFirst() == [.send(Array(self.text.prefix(4_097)), to: .client), .end(ending)])
        #expect(connection.isOver && connection.next == nil)
    }

    @Test
    func `corruption and loss depend on the seed and the place, not on the sizes of reads`() {
        let profile = FaultProfile { ($0.corruption, $0.loss, $0.jitter) = (0.001, 0.1, .seconds(1)) }
        func arrivals(seed: UInt64, number: Int = 3, chunk: Int) -> ([UInt8], Duration?) {
            var connection = FaultedConnection(profile, seed: seed, number: number)
            for start in stride(from: 0, to: self.text.count, by: chunk) {
                let end = min(self.text.count, start + chunk)
                connection.receive(Array(self.text[start..<end]), from: .server, at: .zero)
            }
            let arrivals = self.play(&connection)
            let changed = zip(self.bytes(arrivals), self.text).count { $0 != $1 }
            #expect(changed == connection.corruptedBytes && (5...50).contains(changed))
            return (self.bytes(arrivals), arrivals.last?.time)
        }
        let first = arrivals(seed: 7, chunk: 20_000)
        #expect(arrivals(seed: 7, chunk: 7) == first)
        #expect(arrivals(seed: 7, chunk: 1_461) == first)
        #expect(arrivals(seed: 8, chunk: 20_000) != first)
        #expect(arrivals(seed: 7, number: 4, chunk: 20_000) != first)
    }

    @Test
    func `the time line begins and ends an outage, also for connections that rest`() {
        let profile = FaultProfile([
            .init { $0.delay = .milliseconds(5) }, .init(at: .seconds(10)) { ($0.cut, $0.ending) = (0, .reset) },
            .init(at: .seconds(20)),
        ])
        var connection = FaultedConnection(profile, seed: 1, number: 0)
        connection.receive([1], from: .client, at: .seconds(1))
        let arrivals = self.play(&connection)
        #expect(arrivals.map(\.action) == [.send([1], to: .server), .end(.reset)])
        #expect(arrivals.map(\.time) == [.milliseconds(1_005), .seconds(10)])
        var during = FaultedConnection(profile, seed: 1, number: 1, at: .seconds(15))
        #expect(during.advance(to: .seconds(15)) == [.end(.reset)])
        var after = FaultedConnection(profile, seed: 1, number: 2, at: .seconds(20))
        after.receive([2], from: .server, at: .seconds(20))
        #expect(after.advance(to: .seconds(20)) == [.send([2], to: .client)])
    }

    @Test
    func `drops end the share of connections that they say in each second`() {
        let profile = FaultProfile([.init { $0.drops = 0.1 }, .init(at: .seconds(5))])
        var times: [Duration] = []
        for number in 0..<2_000 {
            var connection = FaultedConnection(profile, seed: 3, number: number)
            times += self.play(&connection).map(\.time)
        }
        #expect((160...240).contains(times.count { $0 <= .seconds(1) }))
        #expect((750...890).contains(times.count))
        #expect(times.allSatisfy { $0 <= .seconds(5) })
    }

    @Test
    func `another profile counts from the moment at which it is given`() {
        var connection = FaultedConnection(FaultProfile { $0.delay = .seconds(3_600) }, seed: 1, number: 0)
        connection.use(FaultProfile([.init(), .init(at: .seconds(1)) { $0.cut = 0 }]), at: .seconds(50))
        connection.receive([1], from: .client, at: .seconds(50))
        let arrivals = self.play(&connection, until: .seconds(100))
        #expect(arrivals.map(\.action) == [.send([1], to: .server), .end(.close)])
        #expect(arrivals.last?.time == .seconds(51))
    }

    @Test
    func `what waits is bounded, because a full side is not read`() {
        var connection = FaultedConnection(FaultProfile { $0.rate = 1 }, seed: 1, number: 0)
        connection.receive([UInt8](repeating: 0, count: 300_000), from: .client, at: .zero)
        #expect(connection.isFull(.client) && !connection.isFull(.server))
    }
}
