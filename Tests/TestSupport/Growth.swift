internal import LinkspanRuntime
package import Testing

/// How many steps something takes, which do not depend on the machine; 0 in builds that do not count them.
package func countSteps(_ body: () throws -> Void) rethrows -> Int {
    let steps = Lock(0)
    try Growth.$onStep.withValue({ steps.withLock { $0 += 1 } }) { try body() }
    return steps.withLock { $0 }
}

/// Expects a workload of twice the size to take little more than twice the steps.
package func expectLinear(
    size: Int = 1_000, stepsEach: Int = 120, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (Int) throws -> Void
) rethrows {
    let (once, twice) = (try countSteps { try body(size) }, try countSteps { try body(2 * size) })
    #expect(once > size || once == 0, "the steps are counted", sourceLocation: sourceLocation)
    #expect(Double(twice) <= 2.3 * Double(once), "\(once) steps become \(twice)", sourceLocation: sourceLocation)
    #expect(once <= stepsEach * size, "\(once) steps for \(size)", sourceLocation: sourceLocation)
}
