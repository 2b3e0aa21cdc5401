internal import Testing

@testable internal import LinkspanNetwork

/// The pauses of a connection whose messages are decompressed.
@Suite struct InflationBudgetTests {
    private static let mebibyte = 1 << 20

    @Test(arguments: [0, 1, 2, 16])
    func `a pause has 5 ms for each whole megabyte`(megabytes: Int) {
        var budget = InflationBudget()
        let pause: Duration? = megabytes == 0 ? nil : .milliseconds(5 * megabytes)
        #expect(budget.takePause(after: megabytes * Self.mebibyte + 5) == pause)
        #expect(budget.takePause(after: megabytes * Self.mebibyte + 5) == nil, "it is taken once")
    }

    @Test(arguments: [1_000, 1 << 19, 3 << 19, 7 << 20])
    func `what is left of a megabyte counts towards the next pause`(step: Int) {
        var budget = InflationBudget()
        var sum = Duration.zero
        for number in 1...100 { sum += budget.takePause(after: number * step) ?? .zero }
        #expect(sum == .milliseconds(5 * ((100 * step) / Self.mebibyte)))
    }
}
