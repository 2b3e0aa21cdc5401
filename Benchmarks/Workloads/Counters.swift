import Foundation

/// Reads what the preloaded counters have counted; there are none unless the program was started with them.
struct Counters {
    /// The counters, in the order in which the library has them.
    enum Kind: Int, CaseIterable {
        case allocations, locks, retains, releases, calls, wakes
    }

    private typealias Read = @convention(c) (UnsafeMutablePointer<UInt64>, CInt) -> CInt
    private static let read: Read? = dlsym(nil, "linkspan_counters").map { unsafeBitCast($0, to: Read.self) }

    /// Whether the program was started with counters.
    static var areLoaded: Bool { Self.read != nil }

    private var sums = [UInt64](repeating: 0, count: Kind.allCases.count)
    private var switches = 0

    /// What has been counted so far; nil without counters.
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
