internal import Foundation
internal import LinkspanBackEnds
package import LinkspanNetwork
internal import LinkspanRuntime
package import Testing

#if NIO
internal import LinkspanNIO
#endif

extension NetworkBackEnd {
    /// The back end of the test that is running.
    @TaskLocal package static var current = NetworkBackEnd.standard
}

/// Starts a loop of the back end that is tested, of the kind that is tested.
package func makeLoop(
    name: String, resolver: Resolver = .system, idleLimit: Duration? = nil, listens: Bool = false
) -> any NetworkLoop {
    if LoopVariant.isGroup { return makeTurnByTurnLoop(name: name, resolver: resolver, idleLimit: idleLimit) }
    return NetworkBackEnd.current.makeLoop(name: name, idleLimit: idleLimit, resolver: resolver, listens: listens)
}

/// Starts a loop on a thread of SwiftNIO's, which is entered turn by turn, as the queue over Network.framework is.
package func makeTurnByTurnLoop(
    name: String, resolver: Resolver = .system, idleLimit: Duration? = nil
) -> any NetworkLoop {
    #if NIO
    NIOLoop(name: name, resolver: resolver, idleLimit: idleLimit, kind: .group)
    #else
    NetworkBackEnd.nio.makeLoop(name: name, idleLimit: idleLimit, resolver: resolver)
    #endif
}

/// A back end, and the way in which SwiftNIO's loops run.
private struct LoopVariant: CustomStringConvertible {
    /// Whether the test runs on loops that ``makeTurnByTurnLoop(name:resolver:idleLimit:)`` makes.
    @TaskLocal static var isGroup = false

    static let all = NetworkBackEnd.builtIn.flatMap { network in
        network == .nio
            ? [Self(network: .nio), Self(network: .nio, isGroup: true)] : [Self(network: network)]
    }

    let network: NetworkBackEnd
    var isGroup = false

    var description: String { self.isGroup ? "\(self.network), turn by turn" : "\(self.network)" }

    func run(_ body: @concurrent @Sendable () async throws -> Void) async throws {
        print("over \(self):")
        do {
            try await NetworkBackEnd.$current.withValue(self.network) {
                try await Self.$isGroup.withValue(self.isGroup) { try await body() }
            }
        } catch {
            throw Failure(variant: self, cause: error)
        }
    }

    private struct Failure: Error, CustomStringConvertible {
        let variant: LoopVariant
        let cause: any Error

        var description: String { "over \(self.variant): \(self.cause)" }
    }
}

/// Runs each test over back ends of byte streams.
///
/// Over every one that is built, SwiftNIO's in two ways, or over one, by turns; over the one that `TEST_NETWORK` names, if it names one. An
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
        for variant in self.variants { try await variant.run(function) }
    }

    private var variants: [LoopVariant] {
        let all = LoopVariant.all
        let environment = ProcessInfo.processInfo.environment
        if let wanted = environment["TEST_NETWORK"] { return all.filter { $0.network.rawValue == wanted } }
        guard !self.isComplete, environment["LINKSPAN_WIRES"] == nil else { return all }
        let turn = self.turn.withLock { turn in
            turn += 1
            return turn
        }
        return [all[turn % all.count]]
    }
}

extension Trait where Self == BackEndTrait {
    /// Over every back end.
    package static var overEachBackEnd: Self { Self(isComplete: true) }

    /// Over the back ends by turns; over every one if `LINKSPAN_WIRES` is set.
    package static var overSomeBackEnd: Self { Self(isComplete: false) }
}
