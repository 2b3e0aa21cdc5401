public import Linkspan
public import LinkspanNetwork
public import LinkspanWebSocket

/// A message protocol and its server's side of it, for ``MessageProtocolConformance``.
///
/// A value of it is copied for each link, as the protocol is.
public protocol MessageProtocolPeer: Sendable {
    /// The protocol under test.
    var language: any MessageProtocol { get }

    /// The credentials of the client (default none).
    var credentials: Credentials { get }

    /// An event that both sides may send and that clients may listen to (default `news`).
    var event: String { get }

    /// Arguments that an event of either side, a request and a reply may have (default `{"text":"ä"}`).
    var payload: Payload { get }

    /// Arguments that are more than the server takes of ``event``; nil, as by default, without a limit.
    var excessivePayload: Payload? { get }

    /// The protocol has events from the client to the server (default true).
    var takesEvents: Bool { get }

    /// The protocol has requests from the client, with replies (default true).
    var takesRequests: Bool { get }

    /// Messages are chunks of one byte stream without message boundaries, as with MQTT and NATS (default false).
    var isStream: Bool { get }

    /// Reads a message of the client.
    ///
    /// - Returns: the actions that the message stands for, in order; others than those of ``PeerAction`` are omitted.
    /// - Throws: any error, for a message that no server would accept; the check then fails.
    mutating func read(_ message: WebSocketMessage) throws -> [PeerAction]

    /// Makes the messages of the server for an action.
    ///
    /// - Returns: the messages; nil for an action that the protocol does not have, which skips the checks that need it.
    /// - Throws: any error; the check then fails.
    mutating func write(_ action: PeerAction) throws -> [WebSocketMessage]?
}

extension MessageProtocolPeer {
    /// None.
    public var credentials: Credentials { Credentials() }
    /// `news`.
    public var event: String { "news" }
    /// An object with a text.
    public var payload: Payload { Payload(trustedElements: Array(#"{"text":"ä"}"#.utf8)[...]) }
    /// Nil.
    public var excessivePayload: Payload? { nil }
    /// True.
    public var takesEvents: Bool { true }
    /// True.
    public var takesRequests: Bool { true }
    /// False.
    public var isStream: Bool { false }
}

/// The meaning of a message between a client and its server.
public enum PeerAction: Sendable, Hashable {
    /// The server's first message, or the client's beginning of a session.
    case greeting
    /// The server accepts the session, and says whether it has gone on with the former one.
    case acceptance(isResumed: Bool)
    /// The server refuses the credentials.
    case refusal
    /// The client subscribes to an event, or to a group of events that the server knows by this name.
    case subscription(String)
    /// The client ends a subscription.
    case unsubscription(String)
    /// An event; with the sender's mark for the reply if it is a request, a delivery or a question.
    ///
    /// Marks of the server's questions are decimal numbers.
    case event(String, Payload, mark: String?)
    /// The reply to what had the mark.
    case reply(mark: String, Payload)
    /// The server refuses the request or delivery that had the mark, and nothing else.
    case failure(mark: String)
    /// A heartbeat, which the other side answers.
    case heartbeat
    /// The answer to a heartbeat.
    case heartbeatAnswer
    /// The client shows renewed credentials.
    case renewal
}
