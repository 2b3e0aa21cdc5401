internal import Foundation
internal import LinkspanBackEnds
package import LinkspanNetwork
internal import LinkspanRuntime
package import Testing

extension NetworkBackEnd {
    /// The back end of the test that is running.
    @TaskLocal package static var current = NetworkBackEnd.standard
}

/// Starts a loop of the back end that is tested.
package func makeLoop(name: String, resolver: Resolver = .system, idleLimit: Duration? = nil) -> any NetworkLoop {
    NetworkBackEnd.current.makeLoop(name: name, idleLimit: idleLimit, resolver: resolver)
}

/// Runs each test over back ends of byte streams.
///
/// Over every one that is built, or over one, by turns; over the one that `TEST_NETWORK` names, if it names one. An
/// error that is thrown says which back end it was; a recorded issue does not, so the back end is printed before its run.
package struct BackEndTrait: SuiteTrait, TestTrait, TestScoping {
    package let isRecursive = true
    private let isComplete: Bool
    private let turn = Lock(0)

    fileprivate init(isComplete: Bool) { self.isComplete = isComplete }

    package func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        for network in self.backEnds {
            print("over \(network):")
            do {
                try await NetworkBackEnd.$current.withValue(network) { try await function() }
            } catch {
                throw Failure(network: network, cause: error)
            }
        }
    }

    private var backEnds: [NetworkBackEnd] {
        let all = NetworkBackEnd.builtIn
        let environment = ProcessInfo.processInfo.environment
        if let wanted = environment["TEST_NETWORK"] { return all.filter { $0.rawValue == wanted } }
        guard !self.isComplete, environment["LINKSPAN_WIRES"] == nil else { return all }
        let turn = self.turn.withLock { turn in
            turn += 1
            return turn
        }
        return [all[turn % all.count]]
    }

    private struct Failure: Error, CustomStringConvertible {
        let network: NetworkBackEnd
        let cause: any Error

        var description: String { "over \(self.network): \(self.cause)" }
    }
}

extension Trait where Self == BackEndTrait {
    /// Over every back end.
    package static var overEachBackEnd: Self { Self(isComplete: true) }

    /// Over the back ends by turns; over every one if `LINKSPAN_WIRES` is set.
    package static var overSomeBackEnd: Self { Self(isComplete: false) }
}
