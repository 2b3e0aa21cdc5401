import Foundation

/// What a process holds that must not grow.
enum ProcessCounts {
    #if os(Linux)
    private static let folder = "/proc/self/fd"
    #else
    private static let folder = "/dev/fd"
    #endif

    /// Open descriptors, less the one that looks.
    static var descriptors: Int {
        ((try? FileManager.default.contentsOfDirectory(atPath: Self.folder).count) ?? 0) - 1
    }

    /// Opens the descriptors that a process keeps once tasks of it have slept: one for each of two clocks, the second with the
    /// first time limit of a test, which on a busy machine comes behind the test's beginning.
    static func openTimers() async throws {
        try await Task.sleep(for: .milliseconds(1))
        try await Task.sleep(nanoseconds: 1_000_000)
    }

    /// Threads whose names begin as those of the tests and of the library do, so that the pools of others do not count.
    static var threads: Int {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.filter { task in
            let name = (try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)) ?? ""
            return name.hasPrefix("test-") || name.hasPrefix("linkspan") || name.hasPrefix("churn")
        }.count
    }

    /// Resident memory in bytes, 0 where it is not told.
    static var memory: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }
}
