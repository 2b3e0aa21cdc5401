internal import Testing

@testable internal import LinkspanRuntime

@Suite("Promise", .timeLimit(.minutes(1)))
struct PromiseTests {
    @Test
    func `a value that is there is returned, the first of several`() async {
        let promise = Promise<Int>()
        promise.fulfill(1)
        promise.fulfill(2)
        #expect(await promise.value == 1)
    }

    @Test
    func `observers hear the value once, in their order, and at once when it is there`() async {
        let promise = Promise<Int>()
        let heard = Lock<[String]>([])
        for name in ["a", "b"] { promise.whenFulfilled { value in heard.withLock { $0.append("\(name)\(value)") } } }
        promise.fulfill(1)
        promise.fulfill(2)
        promise.whenFulfilled { value in heard.withLock { $0.append("c\(value)") } }
        #expect(heard.withLock { $0 } == ["a1", "b1", "c1"])
        #expect(await promise.value == 1)
    }

    @Test
    func `a value that comes later ends the wait`() async {
        let promise = Promise<Int>()
        async let value = promise.value
        promise.fulfill(3)
        #expect(await value == 3)
    }

    @Test
    func `a wait ends at its deadline with another value, unless there is one`() async {
        let (scheduler, early, never, end) = (SystemTimers(), Promise<Int>(), Promise<Int>(), Promise<Void>())
        early.fulfill(1)
        #expect(early.fulfilled == 1 && never.fulfilled == nil)
        #expect(await early.value(until: .now + .seconds(3_600), by: scheduler, or: 2) == 1)
        #expect(scheduler.pendingCount == 0, "its timer ends with the wait")
        #expect(await never.value(until: .now, by: scheduler, or: 2) == 2)
        await end.wait(until: .now, by: scheduler)
        #expect(never.fulfilled == 2 && end.fulfilled != nil)
    }
}
