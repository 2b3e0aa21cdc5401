internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@testable import Linkspan

/// A provider whose every call waits until the test answers it, or until it is cancelled.
///
/// Its calls run on real tasks while the clock is virtual: move the clock only when no call has to go on meanwhile.
final class GatedProvider: Sendable {
    private typealias Outcome = Result<Credentials, LinkspanError>

    private struct State: Sendable {
        var requests: [CredentialRequest] = []
        var gates: [Promise<Outcome>] = []
        var cancelled: Set<Int> = []
    }

    private let state = Lock(State())

    /// What was asked for, in order.
    var requests: [CredentialRequest] { self.state.withLock { $0.requests } }
    var reasons: [CredentialRequest.Reason] { self.requests.map(\.reason) }
    /// The calls that were cancelled before they were answered, from 1.
    var cancelled: Set<Int> { self.state.withLock { $0.cancelled } }

    func credentials(for request: CredentialRequest) async throws -> Credentials {
        let gate = Promise<Outcome>()
        let call = self.state.withLock { state in
            state.requests.append(request)
            state.gates.append(gate)
            return state.gates.count
        }
        return try await withTaskCancellationHandler {
            try await gate.value.get()
        } onCancel: {
            self.state.withLock { state in _ = state.cancelled.insert(call) }
            gate.fulfill(.failure(.lost))
        }
    }

    /// Waits until there were so many calls.
    func called(_ count: Int, _ scheduler: VirtualScheduler) async throws {
        try await eventually("call \(count) of the provider", scheduler) { self.requests.count >= count }
    }

    func answer(_ call: Int, _ credentials: Credentials) {
        self.state.withLock { $0.gates[call - 1] }.fulfill(.success(credentials))
    }

    func answer(_ call: Int, token: String, validFor: Duration? = nil) {
        self.answer(call, Credentials(auth: .json("\"\(token)\""), validFor: validFor))
    }

    func fail(_ call: Int) { self.state.withLock { $0.gates[call - 1] }.fulfill(.failure(.lost)) }
}

/// Lets other tasks run, and what they make due, until a condition holds; the clock stands still meanwhile.
func eventually(
    _ what: String, _ scheduler: VirtualScheduler, sourceLocation: SourceLocation = #_sourceLocation,
    until condition: () -> Bool
) async throws {
    try await eventually(
        Comment(rawValue: what), turn: scheduler.settle, sourceLocation: sourceLocation, until: condition)
}

/// Holds the rows that a store is to commit until the test decides about them.
final class CommitGate: Sendable {
    private typealias Decide = @Sendable ((any Error)?) -> Void

    private let held = Lock<[(event: String, decide: Decide)]>([])

    init(_ store: MemoryDeliveryStore) {
        store.onCommit { [self] row, decide in self.held.withLock { $0.append((row.event, decide)) } }
    }

    /// The events of the rows that wait, in the order in which they came.
    var events: [String] { self.held.withLock { $0.map(\.event) } }

    func commit(_ event: String) { self.decide(event, nil) }
    func refuse(_ event: String) { self.decide(event, CancellationError()) }

    private func decide(_ event: String, _ error: (any Error)?) {
        let decide = self.held.withLock { held in
            held.firstIndex { $0.event == event }.map { held.remove(at: $0).decide }
        }
        decide?(error)
    }
}

extension MemoryDeliveryStore {
    /// The events of the committed rows without an outcome.
    var waiting: [String] { self.rows.filter { $0.outcome == nil }.map(\.event) }

    /// The code with which a delivery ended; nil when it waits or was answered.
    func failure(_ event: String) -> LinkspanError.Code? {
        guard case .failure(let error) = self.rows.first(where: { $0.event == event })?.outcome else { return nil }
        return error.code
    }
}
