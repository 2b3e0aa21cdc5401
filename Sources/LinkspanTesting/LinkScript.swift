public import Linkspan

/// The course of one link of a ``ScriptedTransport``: delays, losses and refusals.
///
/// A script begins as a perfect network without delay; each property makes it worse.
///
/// ```swift
/// let transport = ScriptedTransport(scheduler: scheduler) { number in
///     switch number {
///     case 1: .refusing(LinkspanError(.connectionLost, "nobody listens"))
///     case 2: .dropping(after: .seconds(3))
///     default: .perfect
///     }
/// }
/// ```
public struct LinkScript: Sendable {
    /// The server's answer to a link that opens.
    public enum Opening: Sendable {
        /// Accepts the link.
        case accepts
        /// Refuses the link with this error.
        case refuses(LinkspanError)
        /// Never answers.
        case hangs
    }

    /// The server's answer to a link that opens; default: it accepts.
    public var opening = Opening.accepts
    /// The duration of opening; default: zero.
    public var openingDelay = Duration.zero
    /// The delay of a message to the server, asked for each, order kept; default: zero.
    public var delayToServer: @Sendable () -> Duration = { .zero }
    /// The delay of a message to the client, asked for each, order kept; default: zero.
    public var delayToClient: @Sendable () -> Duration = { .zero }
    /// Whether the server resumes the former session, so that the client counts on having missed nothing; default:
    /// false.
    package var resumesSession = false
    /// Whether the link tells what a later one resumes from: `session:count`, the number of the link and that of the
    /// messages that have come from the server; default: false.
    package var tellsResumption = false
    /// The time after opening at which the link is lost; default: never.
    public var dropsAfter: Duration?
    /// The number of messages from the client after which the link is lost, the last included; default: never.
    package var dropsAfterMessages: Int?
    /// The error that the client gets when the link is lost.
    package var dropError = LinkspanError(.connectionLost, "the script dropped the link")
    /// Whether messages that were under way to the server when the link was lost still arrive, perhaps after those of a
    /// newer link; by default they are lost.
    package var outlivesDrop = false
    /// Whether the former link's messages to the client still come in after its end, against the rules; default: false.
    package var speaksAfterDrop = false
    /// From when on, counted from the opening, nothing arrives any more in either direction although the link looks
    /// open; default: never.
    public var isHalfOpenAfter: Duration?
    /// Whether messages from the server are lost while those to it arrive; default: false.
    package var isDeaf = false
    /// The number of times each reply arrives; default: 1.
    package var copiesOfReplies = 1
    /// The number of times each message arrives at the client; default: 1.
    package var copiesOfMessages = 1
    /// With how many unread messages the link is full; default: nil, nothing stays unread.
    ///
    /// A server with a capacity is a slow reader: it reads only by ``ScriptedPeer/read(_:)``, and what it has not read
    /// has not left the client.
    public var capacity: Int?
    /// Whether the link shows renewed credentials to the server while it is open; default: false.
    package var showsRenewals = false
    /// The messages that the link rejects, with the error; default: none.
    public var rejects: @Sendable (OutboundMessage) -> LinkspanError? = { _ in nil }
    /// Replies that the link will never take, with the reason.
    package var rejectsReply: @Sendable (Payload) -> LinkspanError? = { _ in nil }

    /// A perfect link, changed by `configure`.
    public init(_ configure: (inout Self) -> Void = { _ in }) { configure(&self) }

    /// A network without faults or delay.
    public static let perfect = Self()

    /// A server that never answers.
    package static let hanging = Self { $0.opening = .hangs }

    /// A server that refuses the link.
    public static func refusing(_ error: LinkspanError) -> Self { .init { $0.opening = .refuses(error) } }

    /// A link that is lost some time after it opened.
    public static func dropping(after duration: Duration) -> Self { .init { $0.dropsAfter = duration } }

    /// A link on which everything takes a while in both directions, opening included.
    package static func delaying(by delay: Duration) -> Self {
        .init {
            $0.openingDelay = delay
            $0.delayToServer = { delay }
            $0.delayToClient = { delay }
        }
    }
}
