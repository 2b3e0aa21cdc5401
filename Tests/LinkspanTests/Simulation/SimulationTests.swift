internal import Linkspan
internal import LinkspanTesting
internal import TestSupport
internal import Testing

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Android)
internal import Android
#endif

/// How many worlds are run: 500, or as many as the environment variable `TEST_SEEDS` says, which is a number, or a
/// range such as `1000-2000`, or one seed as `=1234`.
private let seeds = Seeds.named(getenv("TEST_SEEDS").map { String(cString: $0) }, or: 0...499)

@Suite("Simulation")
struct SimulationTests {
    @Test
    func `G14: no random network loses, repeats, reorders or lies`() throws {
        let start = (ContinuousClock.now, clock())
        var totals = (calls: 0, applied: 0, links: 0, greetings: 0)
        // All of the traces folded into one, so that two runs can be compared.
        var trace: UInt64 = 0
        var failed = 0
        for seed in seeds where failed < 5 {
            var world = SimulatedWorld(seed: seed)
            try world.run()
            let history = world.history
            let violations = history.violations
            #expect(
                violations.isEmpty,
                "TEST_SEEDS==\(seed), trace \(String(history.trace, radix: 16)): \(violations.prefix(5))")
            failed += violations.isEmpty ? 0 : 1
            trace = trace &* 31 &+ history.trace
            totals.calls += history.calls.count
            totals.applied += history.applied.count
            totals.links += history.states.count { $0 == .connected }
            totals.greetings += history.greetedLinks.count
        }
        let time = start.0.duration(to: .now)
        let work = Double(clock() - start.1) / Double(CLOCKS_PER_SEC)
        print(
            "simulated \(seeds.count) worlds of 10 minutes in \(time), \(work) s of them at work: \(totals.calls) calls, "
                + "\(totals.applied) applied, \(totals.links) links, \(totals.greetings) greeted, "
                + "trace \(String(trace, radix: 16))")
    }

    @Test(arguments: [1, 2, 3, 99, 12_345] as [UInt64])
    func `a seed replays to the same trace`(seed: UInt64) throws {
        var (first, second, other) = (
            SimulatedWorld(seed: seed), SimulatedWorld(seed: seed), SimulatedWorld(seed: seed + 1)
        )
        try first.run()
        try second.run()
        try other.run()
        #expect(first.history.trace == second.history.trace)
        #expect(first.history.trace != other.history.trace)
        #expect(first.history.calls.count > 100, "a world without traffic proves nothing")
        #expect(first.history.applied.count > 50)
    }
}
