#if OUTBOX && Metrics
internal import Linkspan
@testable import LinkspanOutbox
internal import MetricsTestKit
internal import TestSupport
internal import Testing

@Suite("Metrics of an outbox")
struct OutboxMetricsTests {
    private let folder: Folder
    private let metrics = TestMetrics()
    private let clock = TestClock()

    init() throws { self.folder = try Folder() }

    private func driver(_ configure: (inout OutboxOptions) -> Void = { _ in }) -> Driver {
        Driver(self.folder.outbox, clock: self.clock.clock, metrics: self.metrics, configure)
    }

    private func gauge(_ name: String) throws -> Double? {
        try self.metrics.expectGauge("linkspan_outbox_\(name)").lastValue
    }

    private func counter(_ name: String) throws -> Int64 {
        try self.metrics.expectCounter("linkspan_outbox_\(name)").totalValue
    }

    @Test
    func `each commit reports how many deliveries wait and have ended, and how long it took`() throws {
        let driver = self.driver()
        for key in ["a", "b", "c"] { _ = driver.keep(delivery(key)) }
        #expect(try self.gauge("waiting") == 3)
        #expect(try self.gauge("bytes") == 24)
        driver.end(delivery("a"), .success(.empty))
        driver.end(delivery("b"), .failure(LinkspanError(.setAside, "busy")))
        #expect(try self.gauge("waiting") == 1)
        #expect(try self.gauge("bytes") == 8)
        #expect(try self.gauge("outcomes") == 2)
        #expect(try self.gauge("set_aside") == 1)
        #expect(driver.confirm("b"))
        #expect(try self.gauge("outcomes") == 1)
        #expect(try self.gauge("set_aside") == 0)
        let commits = try self.metrics.expectTimer("linkspan_outbox_commit_time").values
        #expect(commits.count >= 6)
        #expect(commits.allSatisfy { $0 > 0 })
        #expect(try self.counter("failures_total") == 0)
    }

    @Test
    func `the age of the oldest delivery is reported when the file is opened`() throws {
        let former = self.driver()
        _ = former.keep(delivery("a"))
        former.shut()
        self.clock.advance(wall: 5_000, sinceStart: 5_000)
        let next = self.driver()
        _ = next.keep(delivery("b"))
        let age = try #require(try self.gauge("oldest_seconds"))
        #expect(age >= 5 && age < 6)
    }

    @Test
    func `loaded and retried deliveries count as retries`() async throws {
        let former = self.driver()
        for key in ["a", "b"] { _ = former.keep(delivery(key)) }
        #expect(try self.counter("retries_total") == 0)
        former.shut()
        let next = self.driver()
        #expect(try next.waiting() == ["a", "b"])
        #expect(try self.counter("retries_total") == 2)
        next.end(delivery("a"), .failure(LinkspanError(.messageRefused, "odd")))
        #expect(try await next.outbox.retry(key: "a"))
        next.together { _ in }
        #expect(try self.counter("retries_total") == 3)
    }

    @Test
    func `calls that fail are counted, and recorded events are measured`() throws {
        let driver = self.driver()
        let message = Message(event: "news", payload: .empty)
        #expect(driver.record(message))
        #expect(try self.gauge("received") == 1)
        #expect(driver.confirm(try #require(driver.received().first)))
        #expect(try self.gauge("received") == 0)
        let second = self.driver()
        #expect(second.keep(delivery("k")).outboxCode == .inUse)
        #expect(try self.counter("failures_total") == 1)
    }
}
#endif
