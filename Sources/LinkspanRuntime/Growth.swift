/// Counts steps of algorithms for tests of how their cost grows; in debug builds alone.
///
/// A structure notes a step for each element that it touches, as `assert(Growth.step())`. A test counts the steps of a
/// workload and of one twice as large: unlike times, the counts do not depend on the machine.
package enum Growth {
    /// Called for each step, when a test counts them.
    @TaskLocal package static var onStep: (@Sendable () -> Void)?

    /// Notes a step; always true.
    package static func step() -> Bool {
        Self.onStep?()
        return true
    }
}
