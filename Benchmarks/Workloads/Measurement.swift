import Foundation

/// What a number of messages has cost, from its making to ``report(_:messages:latencies:)``.
///
/// With counters it reports counts, and no times: counting is not free.
struct Measurement {
    /// The names over the reported numbers.
    static let heading =
        Counters.areLoaded
        ? "workload      messages" + Counters.heading
        : "workload        messages/s   client µs/msg   server µs/msg          p50 µs          p99 µs"

    private let server: EchoServer?
    private let clock = ContinuousClock.now
    private let client: Double
    private let serverStart: Double
    private let counters: Counters?

    /// Starts measuring; without a server when the workload needs none.
    init(server: EchoServer?) {
        self.server = server
        self.serverStart = server?.cpu ?? 0
        self.client = ProcessUsage.now.cpu
        self.counters = Counters.now()
    }

    func report(_ name: String, messages: Int, latencies: [Duration] = []) {
        let end = Counters.now()
        let elapsed = self.clock.duration(to: .now)
        let client = (ProcessUsage.now.cpu - self.client) / Double(messages) * 1e6
        let server = ((self.server?.cpu ?? 0) - self.serverStart) / Double(messages) * 1e6
        let title = name.padding(toLength: max(12, name.count + 1), withPad: " ", startingAt: 0)
        if let start = self.counters, let end {
            print(title + String(format: "%10d", messages) + end.perMessage(since: start, messages: messages))
            return
        }
        var line =
            title + String(format: "%14.0f%16.3f%16.3f", Double(messages) / (elapsed / .seconds(1)), client, server)
        if !latencies.isEmpty {
            let sorted = latencies.sorted()
            for share in [0.5, 0.99] {
                let latency = sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
                line += String(format: "%16.1f", latency / .microseconds(1))
            }
        }
        print(line)
    }
}
