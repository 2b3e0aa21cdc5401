public import Linkspan

/// A transport together with a peer that it can reach, for ``TransportConformance``.
///
/// The peer speaks this small contract; the Socket.IO server of the interoperability tests is one such peer:
///
/// | event | action of the peer |
/// | --- | --- |
/// | `echo` … | emits `echo` with the same arguments |
/// | `req` … | replies with the same arguments |
/// | `ask` … | asks `question` with the same arguments, then emits `answered` with what the reply had |
/// | `binary3` a b c | emits `binary3` with c b a, and replies with c b a |
/// | `flood` {n, bytes} | emits `item` {id, pad} n times, pad having so many characters, then replies with n |
/// | `whoami` | emits `whoami` with the auth payload, or null, and replies with it |
/// | `kick` | ends the link on purpose, without a reply |
/// | `kill_engine` | lets the link die, without a reply |
public protocol TransportFixture: Sendable {
    /// Makes the transport under test.
    func makeTransport() -> any Transport

    /// A request that opens a link to the peer.
    var request: LinkRequest { get }

    /// A request that the peer refuses with code `credentialsRefused`; nil when it refuses none.
    var refusedRequest: LinkRequest? { get }

    /// A request on which the peer emits `early` 1, 2 and 3 before it accepts; nil when it cannot.
    var earlyRequest: LinkRequest? { get }

    /// A request to an address without a listener; nil when there is none.
    var unreachableRequest: LinkRequest? { get }

    /// Whether `kick` differs from a loss: the link then ends with code `closedByServer`.
    var tellsKicks: Bool { get }

    /// Advances virtual time; called while a check waits.
    func passTime()
}

extension TransportFixture {
    /// No request is refused.
    public var refusedRequest: LinkRequest? { nil }
    /// Nothing comes early.
    public var earlyRequest: LinkRequest? { nil }
    /// Everything is reachable.
    public var unreachableRequest: LinkRequest? { nil }
    /// True: kicks end the link with `closedByServer`.
    public var tellsKicks: Bool { true }
    /// Does nothing: real time passes.
    public func passTime() {}
}
