internal import Testing

@testable internal import Linkspan

/// The documentation names the defaults, which users rely on.
@Suite("Defaults")
struct DefaultsTests {
    @Test
    func `of a connection's options are the documented ones`() {
        #expect(
            ConnectionOptions().described == [
                "buffer": "1000/4194304/refuse", "bufferMaxAge": "unlimited", "deliveries": "10000/67108864",
                "repeat": "20.0 seconds/unlimited/none/fails", "replies": "all/20", "flush": "256/1048576/0.01 seconds",
                "greeting": "none", "store": "none", "interceptors": "none", "endpoints": "none",
                "retry": RetryPolicy.standard.description, "replyTimeout": "30.0 seconds",
                "openDeadline": "10.0 seconds", "credentialDeadline": "10.0 seconds", "healthyAfter": "10.0 seconds",
                "idleTimeout": "5.0 seconds", "slowListener": "0.1 seconds", "probe": "none/30.0 seconds",
            ])
        #expect(Endpoints().returnAfter == .seconds(300) && !Endpoints().isShuffled)
        let backoff = Backoff.standard
        #expect([backoff.firstSpread, backoff.initial, backoff.earlyCap] == [.seconds(2), .seconds(4), .seconds(5)])
        #expect(
            [backoff.earlyPeriod, backoff.cap, backoff.retryAfterCap] == [.seconds(60), .seconds(30), .seconds(300)])
    }

    @Test
    func `of a manager's options are the documented ones`() {
        let (options, attempts) = (ConnectionManager.Options(), AttemptLimits())
        #expect(options.backgroundIdleTimeout == .seconds(30))
        #expect(options.dataSaving == .constrained)
        #expect(attempts.perSecond == 5 && attempts.burst == 10 && attempts.spacing == .seconds(1))
        #expect((0..<100).allSatisfy { _ in (0..<1).contains(options.random()) })
    }

    @Test
    func `of a command are the documented ones, and each property is kept by itself`() {
        let usual = Command(.send, event: "a", payload: .empty)
        #expect(usual.message.isCompressible && !usual.isVolatile && usual.timeout == nil && usual.key == nil)
        #expect(usual.stage == .waiting && !usual.isUnkept && !usual.hasMadeKey && usual.refusals == 0)
        var (unkept, keyed, later) = (usual, usual, usual)
        unkept.isUnkept = true
        keyed.makeKey("p")
        later.noteRefusal()
        #expect(unkept.isUnkept && keyed.hasMadeKey && later.refusals == 1)
        #expect(keyed.key == "p.\(keyed.id.number)")
    }
}
