internal import LinkspanBackEnds
internal import Foundation
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import Testing

/// How a test reaches its server: what carries the packets, whether through TLS, and over which back end of byte streams.
struct Wire: Sendable, Hashable, CustomStringConvertible {
    /// The wire of the test that is running.
    @TaskLocal static var current = Wire()

    var carriers = SocketIOCarriers.webSocket
    var isSecure = false
    /// The library under everything on the client's side.
    var network = NetworkBackEnd.standard

    /// The name by which `LINKSPAN_WIRES` asks for it, such as `polling+tls` or, over SwiftNIO, `polling+tls+nio`.
    var description: String {
        let name = self.carriers.rawValue + (self.isSecure ? "+tls" : "")
        return self.network == .standard ? name : "\(name)+\(self.network)"
    }

    /// What may carry a link, by the names that it tells.
    var carrierNames: Set<String> {
        switch self.carriers {
        case .webSocket: ["websocket"]
        case .polling: ["polling"]
        // An upgrade may come before the namespace is joined, and after it.
        case .upgrade, .fallback: ["polling", "websocket"]
        }
    }

    /// The loop that everything of a test lives on.
    func makeLoop() -> any NetworkLoop { self.network.makeLoop(name: "interop") }
}

/// Runs a suite's tests over several wires.
///
/// Each case of a test is run over each carrier, every second time through TLS, and the next case and the next test begin
/// the other way round: so each case meets each value of both, and a suite of two tests or more meets each wire. Back ends
/// change after every second turn, so that each meets the others in time. With
/// `LINKSPAN_WIRES=all` each test is run over every wire, with the name of a wire over that alone.
///
/// An error that is thrown says which wire it was; a recorded issue does not, so the wire is printed before its run.
struct WireTrait: SuiteTrait, TestTrait, TestScoping {
    let carriers: [SocketIOCarriers]
    /// Whether servers speak TLS.
    let securities: [Bool]
    /// Whether every wire is wanted in any case.
    let isComplete: Bool
    let isRecursive = true
    private let turn = Turn()

    init(_ carriers: [SocketIOCarriers], securities: [Bool], isComplete: Bool = false) {
        self.carriers = carriers
        self.securities = securities
        self.isComplete = isComplete
    }

    func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        for wire in self.wires(for: test) {
            print("over \(wire):")
            do {
                try await Wire.$current.withValue(wire) { try await function() }
            } catch {
                throw Failure(wire: wire, cause: error)
            }
        }
    }

    /// The wires of the next case of a test.
    private func wires(for test: Test) -> [Wire] {
        let networks = NetworkBackEnd.builtIn
        let all = self.carriers.flatMap { carriers in
            self.securities.flatMap { isSecure in
                networks.map { Wire(carriers: carriers, isSecure: isSecure, network: $0) }
            }
        }
        let turn = self.turn.next(of: test.id)
        switch Self.wanted {
        case nil where !self.isComplete:
            return (0..<max(self.carriers.count, self.securities.count)).map { index in
                Wire(
                    carriers: self.carriers[index % self.carriers.count],
                    isSecure: self.securities[(index + turn) % self.securities.count],
                    network: networks[(index + turn / self.securities.count) % networks.count])
            }
        case nil, "all": return all
        case let name?: return all.filter { $0.description == name }
        }
    }

    private static let wanted = ProcessInfo.processInfo.environment["LINKSPAN_WIRES"]

    /// Counts a suite's tests, and on from there the cases of each.
    private final class Turn: Sendable {
        private struct State: Sendable {
            var test: Test.ID?
            var tests = 0
            var cases = 0
        }

        private let state = Lock(State())

        func next(of test: Test.ID) -> Int {
            self.state.withLock { state in
                if state.test != test { state = State(test: test, tests: state.tests + 1) }
                state.cases += 1
                return state.tests + state.cases
            }
        }
    }

    struct Failure: Error, CustomStringConvertible {
        let wire: Wire
        let cause: any Error

        var description: String { "over \(self.wire): \(self.cause)" }
    }
}

extension Trait where Self == WireTrait {
    private static var carriers: [SocketIOCarriers] { [.webSocket, .polling, .upgrade] }

    /// Over a WebSocket, over polling alone, and with an upgrade, in the clear and through TLS.
    static var overEachWire: Self { Self(Self.carriers, securities: [false, true]) }

    /// Over each of them in any case: for tests that are about the wire and take no time.
    static var overEveryWire: Self { Self(Self.carriers, securities: [false, true], isComplete: true) }

    /// The same in the clear, for servers that know nothing else and for tests that see to TLS themselves.
    static var overEachCarrier: Self { Self(Self.carriers, securities: [false]) }

    /// Over a WebSocket, in the clear and through TLS: for servers of raw WebSockets.
    static var overWebSockets: Self { Self([.webSocket], securities: [false, true]) }

    /// The same over every back end in any case.
    static var overEveryWebSocket: Self { Self([.webSocket], securities: [false, true], isComplete: true) }

    /// Over the back ends of byte streams by turns, for tests that see to carriers and TLS themselves.
    static var overBackEnds: Self { Self([.webSocket], securities: [false]) }
}
