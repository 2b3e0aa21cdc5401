import Foundation

/// What a number of messages has cost, from its making to ``report(_:messages:)``.
struct Measurement {
    private let server: EchoServer
    private let clock = ContinuousClock.now
    private let client: Double
    private let serverStart: Double

    init(server: EchoServer) {
        self.server = server
        self.client = Self.cpu
        self.serverStart = server.cpu
    }

    func report(_ name: String, messages: Int) {
        let elapsed = self.clock.duration(to: .now)
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        let client = (Self.cpu - self.client) / Double(messages) * 1e6
        let server = (self.server.cpu - self.serverStart) / Double(messages) * 1e6
        let rate = Double(messages) / seconds
        print(
            name.padding(toLength: 10, withPad: " ", startingAt: 0)
                + String(format: "%14.0f  %14.2f  %14.2f", rate, client, server))
    }

    /// User and system seconds of this process.
    private static var cpu: Double {
        var usage = rusage()
        #if canImport(Glibc)
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
        getrusage(RUSAGE_SELF, &usage)
        #endif
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}
