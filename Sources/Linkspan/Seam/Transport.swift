public import LinkspanRuntime

/// A plug-in that opens links, over which a connection's traffic is carried.
///
/// A transport opens *links*. A link carries named events with arguments, replies to them, and its own end. It does not
/// buffer while offline, retry, reconnect, or keep connection states: the core does that once for all transports. So a
/// transport is small, and every transport behaves alike.
///
/// Everything is callback-shaped and nothing here suspends. A link tells its ``LinkReceiver`` once for each read, on
/// the transport's executor, and the receiver takes the events one by one; there is no task and no hop per message.
public protocol Transport: Sendable {
    /// The name that configuration files use, such as `socketio`.
    var name: String { get }

    /// The executor of its links: they are called there, and call their receivers there.
    ///
    /// An event loop of its own, that of the transport it wraps, or one of `SystemScheduler.makeExecutor(label:)`.
    /// Always the same one.
    var executor: any JobExecutor { get }

    /// The URL schemes it carries, lower case.
    var schemes: Set<String> { get }

    /// The options that two users of one pooled connection must agree on, as text without secrets.
    ///
    /// Shown by `explain`, and compared when the pool is asked for the same URL twice.
    var options: [String: String] { get }

    /// The settings that identify the client besides the credentials: a client certificate, name and
    /// password for a proxy, header fields of one's own.
    ///
    /// Connections that differ in one of them are never shared, and share nothing below the pool. Empty by default.
    var identity: [String: Secret] { get }

    /// A discriminator beyond the URL between endpoints of one server, such as the path of Socket.IO.
    ///
    /// Connections that differ in it are two connections. Empty by default.
    var endpoint: String { get }

    /// Links send the idempotency keys of deliveries, so the connection makes a key for a delivery without one; false by default.
    var sendsKeys: Bool { get }

    /// Makes a link that has not begun to open.
    ///
    /// The core calls ``Link/open()`` afterwards, once. Making a link must be cheap and must not call the receiver.
    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link
}

extension Transport {
    /// No options.
    public var options: [String: String] { [:] }

    /// No such settings.
    public var identity: [String: Secret] { [:] }

    /// Nothing: the URL is the endpoint.
    public var endpoint: String { "" }

    /// False.
    public var sendsKeys: Bool { false }
}

/// The parameters of a new link.
public struct LinkRequest: Sendable {
    /// The URL to connect to: the configured one, or the one that the credentials name.
    public var url: ConnectionURL
    /// The credentials for this attempt.
    ///
    /// Fresh for every attempt.
    public var credentials: Credentials
    /// The time limit for opening.
    ///
    /// The core enforces it by ``Link/abort()``; a transport may use it for finer errors.
    public var deadline: Duration
    /// The token with which the server resumes the former link's session: ``Link/resumption``, in the transport's own
    /// format.
    public var resumption: Secret?
    /// The identity of the link's owner: links share sockets, cookies and sessions only within one identity.
    ///
    /// The same for every attempt of a connection, whatever its credentials are at that moment.
    public let identity: ConnectionIdentity

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - url: where to connect.
    ///   - credentials: the credentials for this attempt.
    ///   - deadline: how long opening may take.
    ///   - resumption: the token of the former link.
    ///   - identity: the connection's; nil for that of these credentials alone.
    public init(
        url: ConnectionURL, credentials: Credentials = Credentials(), deadline: Duration = .seconds(10),
        resumption: Secret? = nil,
        identity: ConnectionIdentity? = nil
    ) {
        self.resumption = resumption
        self.identity = identity ?? ConnectionIdentity(credentials)
        self.url = url
        self.credentials = credentials
        self.deadline = deadline
    }
}

/// One lifetime of a transport connection, from opening to its end.
///
/// It lives on the transport's executor: all methods are called there, and must neither block nor call the receiver
/// before they return. So its state needs no lock.
public protocol Link: AnyObject {
    /// Begins to open. The outcome is ``LinkEvent/opened(_:)`` or ``LinkEvent/closed(_:)``.
    func open()

    /// Takes a message for the wire.
    ///
    /// Messages leave in the order in which this was called. After ``SendAcceptance/refused`` nothing of the message
    /// will ever reach the peer.
    func send(_ message: OutboundMessage) -> SendAcceptance

    /// Takes a delivery for the wire: like ``send(_:)``, and its reply is the server's acknowledgement.
    ///
    /// - Parameters:
    ///   - message: the message.
    ///   - key: the idempotency key of the delivery.
    ///   - isRepeated: true if an earlier attempt may have reached the server.
    /// - Returns: the result, as for ``send(_:)``.
    func deliver(_ message: OutboundMessage, key: String?, isRepeated: Bool) -> SendAcceptance

    /// Whether the peer sends only events that were asked for, so that ``setListening(_:to:)`` is called; false by default.
    var followsListeners: Bool { get }

    /// Tells that an event has its first listener, or has lost its last one.
    ///
    /// Called on an open link: for each event with listeners when it has opened, before anything is sent, and then with each
    /// change.
    ///
    /// - Throws: ``LinkspanError``, which is logged: the peer cannot send events of this name.
    func setListening(_ isListening: Bool, to event: String) throws(LinkspanError)

    /// Answers a received message that asked for a reply.
    ///
    /// - Parameters:
    ///   - id: the ``InboundMessage/replyID`` of the message.
    ///   - payload: the arguments of the reply.
    /// - Returns: the result, as for ``send(_:)``.
    @discardableResult
    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance

    /// Closes the link: sends all accepted messages, informs the peer, then ends. The transport limits the time.
    ///
    /// - Parameters:
    ///   - code: the app's close code, for a wire that has close codes; nil for the transport's own code and reason.
    ///   - reason: the app's reason.
    func close(code: UInt16?, reason: String)

    /// Ends at once, at any moment of the link's life.
    func abort()

    /// Stops reading from the peer, so that it is slowed down, or reads on. Nothing that was received is lost.
    func setReadingPaused(_ isPaused: Bool)

    /// Saves data from now on, such as by a more seldom heartbeat, or no longer; see ``DataSaving``. Also while it opens.
    func saveData(_ savesData: Bool)

    /// Shows the peer renewed credentials while the link is open, so that it need not end the link when the former ones
    /// expire.
    ///
    /// A peer that refuses them ends the link with code `credentialsRefused`.
    ///
    /// - Parameter credentials: the new ones.
    /// - Returns: whether the peer gets them; false when the transport cannot send them, so that they are for the next
    ///   link.
    func renewCredentials(_ credentials: Credentials) -> Bool

    /// The token with which the next link resumes the session where this link has left it.
    ///
    /// Understood by this kind of transport alone. Asked for at any time, also after the end. Nil when there is no
    /// session to resume: it was left on purpose, or the server does not offer it.
    var resumption: Secret? { get }

    /// Whether anything that was taken is still here: the system, or over long polling the server, does not have it
    /// yet.
    ///
    /// Looked at again and again by ``ConnectionHandler/drain(within:)``, and between the turns of a flush.
    var hasPendingBytes: Bool { get }

    /// The step that opening is waiting for, as an activity such as `resolving the server's name`.
    ///
    /// Named by the error of an attempt that takes too long. Nil when the link is not opening, or cannot tell.
    var openingStage: String? { get }
}

extension Link {
    /// Sends the message: for transports on which a delivery is a request like others.
    public func deliver(_ message: OutboundMessage, key: String?, isRepeated: Bool) -> SendAcceptance {
        self.send(message)
    }
    /// False: for transports whose peers send whatever they like.
    public var followsListeners: Bool { false }
    /// Does nothing.
    public func setListening(_ isListening: Bool, to event: String) throws(LinkspanError) {}
    /// Does nothing: for transports that cannot slow their peer.
    public func setReadingPaused(_ isPaused: Bool) {}
    /// Does nothing: for transports that send nothing by themselves.
    public func saveData(_ savesData: Bool) {}
    /// Returns false: for transports that show credentials only when they open.
    public func renewCredentials(_ credentials: Credentials) -> Bool { false }
    /// Nil: for transports whose servers do not resume sessions.
    public var resumption: Secret? { nil }
    /// False: for transports that keep nothing.
    public var hasPendingBytes: Bool { false }
    /// Nil: for transports that cannot tell.
    public var openingStage: String? { nil }
}

/// The result of giving a message to a link.
public enum SendAcceptance: Sendable {
    /// Accepted: it will be sent, unless the link is lost first.
    case accepted
    /// Like `accepted`, but the link is full: send no more until ``LinkEvent/writable``.
    case acceptedAndFull
    /// The link is not open, has ended, or is about to end. Nothing of the message will be sent.
    ///
    /// On an open link this promises that ``LinkEvent/closed(_:)`` or ``LinkEvent/writable`` follows.
    case refused
    /// This message can never be sent over this link, for instance because it is too large.
    case rejected(LinkspanError)

    /// Two acceptances are equal when they are of the same kind.
    package static func == (lhs: Self, rhs: Self) -> Bool {
        switch (lhs, rhs) {
        case (.accepted, .accepted), (.acceptedAndFull, .acceptedAndFull): true
        case (.refused, .refused), (.rejected, .rejected): true
        default: false
        }
    }
}

/// The receiver of a link's events.
///
/// Implemented by the core.
public protocol LinkReceiver: AnyObject, Sendable {
    /// Takes events of one link, in order: calls `next` until that returns nil.
    ///
    /// A link calls this on the transport's executor, best once for each read: then one event is handled before the
    /// next is decoded, and nothing is gathered in between. ``LinkEvent/opened(_:)`` comes at most once and before any
    /// message; ``LinkEvent/closed(_:)`` comes exactly once and last, whatever happens, ``Link/abort()`` included.
    /// While `next` runs, the link must not tell its receiver of anything else.
    ///
    /// - Parameter next: the next event; nil when there is none for now.
    func receive(_ next: () -> LinkEvent?)
}

extension LinkReceiver {
    /// Takes events that are there already; see ``receive(_:)-(()->LinkEvent?)``.
    public func receive(_ events: [LinkEvent]) {
        var iterator = events.makeIterator()
        self.receive { iterator.next() }
    }
}

/// An event of a link.
public enum LinkEvent: Sendable {
    /// The peer has accepted us; messages may be sent.
    indirect case opened(LinkInfo)
    /// The information about the open link changed, for instance its carrier; its session goes on.
    indirect case changed(LinkInfo)
    /// A message has arrived.
    case message(InboundMessage)
    /// The reply to the message that was sent with this id.
    case reply(id: UInt64, payload: Payload)
    /// The peer refuses the message that was sent with this id; nil for something else that does not end the link, which is
    /// logged.
    ///
    /// A delivery that is refused with code `serverUnavailable` is sent again later.
    indirect case failed(id: UInt64?, LinkspanError)
    /// After ``SendAcceptance/acceptedAndFull``: there is room again.
    case writable
    /// The link has ended. The code decides whether the core tries again.
    ///
    /// In the message of a failed attempt, the URL takes the place of *the server* at its beginning.
    indirect case closed(LinkspanError)
}
