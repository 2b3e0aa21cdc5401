internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime

/// The attempt of an engine to open a session over one carrier.
///
/// A proxy can accept a WebSocket and then forward no frames, so that an attempt may be given up for another carrier as
/// long as there is no session.
struct CarrierAttempt: Sendable {
    let choice: CarrierChoice
    /// The instant by which the session has to be open; nil when there is no other carrier to try.
    private let limit: Moment?
    /// The reason for changing the carrier, as soon as the present one has closed.
    private var failure: LinkspanError?
    /// The moment at which the server opened the session; nil before it.
    private(set) var sessionBegan: Moment?

    init(_ choice: CarrierChoice, deadline: Duration, now: Moment) {
        self.choice = choice
        self.limit = choice.isProvisional ? now + deadline * choice.share : nil
    }

    var hasSession: Bool { self.sessionBegan != nil }

    /// Whether the links may go on with another carrier.
    var mayChange: Bool { !self.hasSession && self.choice.isProvisional }

    /// The time that is left for opening the session.
    func timeout(within deadline: Duration, now: Moment) -> Duration {
        self.limit.map { now.duration(to: $0) } ?? deadline
    }

    mutating func sessionOpened(now: Moment) { self.sessionBegan = now }

    mutating func fail(_ error: LinkspanError) { self.failure = error }

    /// The reason why the carrier has closed.
    func reason(_ error: LinkspanError) -> LinkspanError { self.failure ?? error }

    /// Makes the carrier, which has not begun to connect.
    func makeCarrier(
        _ key: EngineKey, loop: any NetworkLoop, handler: any EngineCarrierHandler
    ) -> any EngineCarrier {
        switch self.choice {
        case .webSocket(let share):
            return WebSocketCarrier(
                key, deadline: key.request.deadline * share, loop: loop, handler: handler)
        case .polling, .question:
            return PollingCarrier(key, isQuestion: self.choice == .question, loop: loop, handler: handler)
        case .upgrade, .laterUpgrade:
            return UpgradingCarrier(
                key, beginsLater: self.choice == .laterUpgrade, loop: loop, handler: handler)
        }
    }
}
