internal import LinkspanSocketIO
internal import Testing

/// Runs a suite's tests once for each way to carry packets.
///
/// An error that is thrown says which way it was; a recorded issue does not, so the way is printed before its run.
struct CarriedTrait: SuiteTrait, TestTrait, TestScoping {
    @TaskLocal static var carriers = SocketIOTransport.Carriers.webSocket

    let ways: [SocketIOTransport.Carriers]
    let isRecursive = true

    func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        for way in self.ways {
            print("over \(way.rawValue):")
            do {
                try await Self.$carriers.withValue(way) { try await function() }
            } catch {
                throw Failure(way: way, cause: error)
            }
        }
    }

    struct Failure: Error, CustomStringConvertible {
        let way: SocketIOTransport.Carriers
        let cause: any Error

        var description: String { "over \(self.way.rawValue): \(self.cause)" }
    }
}

extension Trait where Self == CarriedTrait {
    /// Once over a WebSocket, once over polling alone, once with an upgrade.
    static var carriedEachWay: Self { Self(ways: [.webSocket, .polling, .upgrade]) }
}
