import Foundation

/// What this process has used.
struct ProcessUsage {
    /// User and system seconds.
    var cpu: Double
    /// How often a thread has waited and was woken.
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
