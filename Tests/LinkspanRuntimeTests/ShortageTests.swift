internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import LinkspanRuntime

/// Each test runs in a process of its own, whose limits it lowers.
@Suite("Without descriptors or threads", .timeLimit(.minutes(1)))
struct ShortageTests {
    @Test
    func `deadlines are met without a descriptor, and by a timer once there is one`() async {
        await #expect(processExitsWith: .success) {
            var scheduler: SystemTimers
            var taken: [Int32] = []
            var former: Int
            repeat {
                scheduler = SystemTimers()
                taken += Descriptors.takeAll()
                former = Descriptors.timerCount
                for _ in 0..<3 { try await Self.expectDeadline(scheduler) }
                // Another thread of the process may have closed one meanwhile, which the timer has got.
            } while Descriptors.timerCount > former
            for descriptor in taken { close(descriptor) }
            for _ in 0..<3 { try await Self.expectDeadline(scheduler) }
            try #require(Descriptors.timerCount > former, "the timer has a descriptor by now")
        }
    }

    @Test
    func `an executor schedules jobs without a descriptor`() async {
        await #expect(processExitsWith: .success) {
            _ = Descriptors.takeAll()
            let executor = SystemScheduler.makeExecutor(label: "short")
            let done = Promise<Bool>()
            executor.schedule(at: .now + .milliseconds(20)) { done.fulfill(executor.isCurrent) }
            try #require(await done.value)
        }
    }

    #if os(Linux)
    @Test
    func `deadlines are met without a thread`() async {
        await #expect(processExitsWith: .success) {
            _ = try ThreadShortage()
            try #require(!SystemThread.start(name: "none") {}, "no thread is left")
            let scheduler = SystemTimers()
            for _ in 0..<3 { try await Self.expectDeadline(scheduler) }
        }
    }
    #endif

    private static func expectDeadline(_ scheduler: SystemTimers) async throws {
        let (instant, done) = (scheduler.now + .milliseconds(20), Promise<Void>())
        _ = scheduler.schedule(at: instant) { done.fulfill() }
        await done.value
        try #require(scheduler.now >= instant)
    }
}

private enum Descriptors {
    /// Uses up the descriptors of the process, and names those that were free.
    static func takeAll() -> [Int32] {
        var limit = rlimit(rlim_cur: 64, rlim_max: 64)
        #if os(Linux)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #else
        setrlimit(RLIMIT_NOFILE, &limit)
        #endif
        var taken: [Int32] = []
        while true {
            let descriptor = open("/dev/null", O_RDONLY)
            guard descriptor >= 0 else { return taken }
            taken.append(descriptor)
        }
    }

    /// The number of timers that the process has open; elsewhere than on Linux, of all that it has open.
    static var timerCount: Int {
        (0..<64 as Range<Int32>).count { descriptor in
            #if os(Linux)
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            return target?.contains("timerfd") == true
            #else
            return fcntl(descriptor, F_GETFD) >= 0
            #endif
        }
    }
}
