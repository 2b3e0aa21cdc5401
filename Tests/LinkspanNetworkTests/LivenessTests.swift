internal import LinkspanRuntime
internal import Testing

@testable internal import LinkspanNetwork

// Because a macro cannot change a value, the results are taken before they are compared.
@Suite("The life of a server")
struct ServerLivenessTests {
    @Test
    func `has to show itself after a ping, and any byte shows it`() {
        var liveness = Liveness()
        #expect(liveness.isAlive && liveness.lastHeard == nil)
        liveness.expectsSign()
        #expect(!liveness.isAlive)
        let now = Moment.now
        liveness.heard(at: now)
        #expect(liveness.isAlive && liveness.lastHeard == now)
    }

    @Test
    func `has one round trip for each ping`() {
        let now = Moment.now
        var liveness = Liveness()
        let early = liveness.takeRoundTrip(now: now)
        liveness.pings(behind: 0, at: now)
        let trip = liveness.takeRoundTrip(now: now + .milliseconds(7))
        let again = liveness.takeRoundTrip(now: now + .milliseconds(9))
        #expect(early == nil && trip == .milliseconds(7) && again == nil)
    }

    @Test
    func `is waited for as long as bytes that were written before the ping leave`() {
        var liveness = Liveness()
        liveness.wrote(1_000)
        liveness.pings(behind: 300, at: .now)
        liveness.wrote(50)
        // The unsent bytes at each look, those behind the ping included.
        let moves = [350, 300, 300, 60, 50, 50, 10].map { liveness.hasMoved(pending: $0) }
        #expect(moves == [false, true, false, true, true, false, false])
        liveness.pings(behind: 20, at: .now)
        let isMoving = liveness.hasMoved(pending: 10)
        #expect(isMoving, "bytes behind an earlier ping are ahead of this one")
    }

    @Test
    func `as many control frames as are accepted may come in each second`() {
        let start = Moment.now
        var rate = ControlRate()
        let floods = [(2, 0), (3, 999), (1, 999), (5, 1_000), (1, 1_999), (5, 2_000)].map { frames, milliseconds in
            rate.isFlooded(by: frames, most: 5, now: start + .milliseconds(milliseconds))
        }
        #expect(floods == [false, false, true, false, true, false])
    }
}
