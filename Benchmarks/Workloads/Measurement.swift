import Foundation

/// The number of messages that a workload sends: its own, or that of `--messages`.
enum Length {
    @TaskLocal static var given: Int?

    static func of(_ own: Int) -> Int { self.given ?? own }
}

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
            // As plain numbers, because comparing durations would cost some of the instructions of each message.
            let sorted = latencies.map { $0 / .microseconds(1) }.sorted()
            for share in [0.5, 0.99] {
                line += String(format: "%16.1f", sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))])
            }
        }
        print(line)
    }
}

/// The processor time, context switches and memory that this process has used so far.
struct ProcessUsage {
    /// User and system seconds.
    var cpu: Double
    /// Voluntary context switches: a thread waited, and was woken.
    var voluntarySwitches: Int
    /// The most memory that it has had.
    var peakBytes: Int

    #if canImport(Darwin)
    private static let memoryUnit = 1
    #else
    private static let memoryUnit = 1_024
    #endif

    /// The memory that this process has now; the most that it has had where the system does not tell that.
    static var residentBytes: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8),
            let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return Self.now.peakBytes }
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    static var now: Self {
        var usage = rusage()
        #if canImport(Glibc)
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
        getrusage(RUSAGE_SELF, &usage)
        #endif
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return Self(
            cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime), voluntarySwitches: Int(usage.ru_nvcsw),
            peakBytes: Int(usage.ru_maxrss) * Self.memoryUnit)
    }
}

/// Reads what the preloaded counters have counted; there are none unless the program was started with them.
struct Counters {
    /// The counters, in the order in which the library has them.
    enum Kind: Int, CaseIterable {
        case allocations, locks, retains, releases, calls, wakes
    }

    private typealias Read = @convention(c) (UnsafeMutablePointer<UInt64>, CInt) -> CInt
    private static let read: Read? = dlsym(nil, "linkspan_counters").map { unsafeBitCast($0, to: Read.self) }

    /// Whether the program was started with the library that counts instructions.
    static var areLoaded: Bool { Self.read != nil }

    private var sums = [UInt64](repeating: 0, count: Kind.allCases.count)
    private var switches = 0

    /// The counts so far; nil unless the library is loaded.
    static func now() -> Self? {
        guard let read = Self.read else { return nil }
        var counters = Self()
        _ = counters.sums.withUnsafeMutableBufferPointer { sums in sums.baseAddress.map { read($0, CInt(sums.count)) } }
        counters.switches = ProcessUsage.now.voluntarySwitches
        return counters
    }

    /// The counts of one message, `messages` after `start`.
    func perMessage(since start: Self, messages: Int) -> String {
        let counts = zip(self.sums, start.sums).map { Double($0 &- $1) / Double(messages) }
        let switches = Double(self.switches - start.switches) / Double(messages)
        return (counts + [switches]).map { String(format: "%10.2f", $0) }.joined()
    }

    /// The names over the numbers of ``perMessage(since:messages:)``.
    static let heading = ["alloc", "locks", "retains", "releases", "calls", "wakes", "switches"]
        .map { String(repeating: " ", count: 10 - $0.count) + $0 }.joined()
}
