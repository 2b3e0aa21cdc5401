internal import LinkspanRuntime

/// A message to be sent, as a value that can wait, expire and be cancelled.
public struct Command: Sendable {
    /// Identifies a command in its process.
    public struct ID: Sendable, Hashable {
        let number: UInt64

        /// The identity of a command that nobody can refer to, until it has to wait.
        static let none = Self(number: 0)

        static func next() -> Self { Self(number: ProcessNumber.next()) }

        /// Whether one was made before another.
        static func < (lhs: Self, rhs: Self) -> Bool { lhs.number < rhs.number }
    }

    /// The delivery semantics of a command.
    public enum Kind: Sendable, Hashable {
        /// Sent at most once; done when the transport has taken it.
        case send
        /// Sent at most once; done when the reply has come.
        case request
        /// Sent at least once, repeated after losses until the reply comes; in order within its ordering key.
        case deliver(orderingKey: String)
        /// Sends nothing; done when the delivery with the same ``Command/key`` is.
        case outcome
    }

    /// The progress of a command towards its outcome.
    public enum Stage: Sendable, Hashable {
        /// Waiting; it has not been sent.
        case waiting
        /// Sent over a lost link; it waits to be sent again.
        case interrupted
        /// Sent; its reply is awaited.
        case underWay
    }

    private enum Form: UInt8, Sendable {
        case send, request, deliver, outcome

        init(_ kind: Kind) {
            switch kind {
            case .send: self = .send
            case .request: self = .request
            case .deliver: self = .deliver
            case .outcome: self = .outcome
            }
        }
    }

    /// Its identity.
    public private(set) var id: ID
    private let form: Form
    /// Whether it belongs together with the command before it, so that no pause comes between them.
    var continuesBatch = false
    /// The message for the link; for a delivery without its number and its key.
    private(set) var message: OutboundMessage
    private var extras: CommandExtras

    /// The same command, whose outcome `observer` gets just before its own completion does: for connections that wrap
    /// another.
    public func observed(
        by observer: @escaping @Sendable (Result<Payload, LinkspanError>) -> Void
    ) -> Self {
        var observed = self
        observed.identify()
        observed.completion = { [completion = self.completion] outcome in
            observer(outcome)
            completion?(outcome)
        }
        return observed
    }
}

// The initialisers delegate to the memberwise one, which builds the value in place; assignments would copy it once.
extension Command {
    /// Makes a command.
    ///
    /// - Parameters:
    ///   - kind: the delivery semantics.
    ///   - event: the name of the event.
    ///   - payload: the arguments.
    ///   - timeout: how long it may take altogether; nil for no limit, or for a request for
    ///     ``ConnectionOptions/replyTimeout``.
    ///   - isVolatile: left out, rather than kept, when it cannot be sent at once.
    ///   - key: the idempotency key of a delivery; nil for a generated one.
    ///   - isCompressible: whether it may be compressed, where client and server have agreed on compression.
    ///   - completion: called exactly once with the outcome. For a `send` the payload is empty.
    ///   - accepted: called with the delivery's key at most once, before the completion, when a delivery is accepted:
    ///     with a store, when it is committed.
    public init(
        _ kind: Kind, event: String, payload: Payload, timeout: Duration? = nil,
        isVolatile: Bool = false, key: String? = nil, isCompressible: Bool = true,
        completion: (@Sendable (Result<Payload, LinkspanError>) -> Void)? = nil,
        accepted: (@Sendable (String) -> Void)? = nil
    ) {
        self.init(
            kind, id: ID.next(), event: event, payload: payload, timeout: timeout, isVolatile: isVolatile, key: key,
            isCompressible: isCompressible, completion: completion, accepted: accepted)
    }

    private init(
        _ kind: Kind, id: ID, event: String, payload: Payload, timeout: Duration?,
        isVolatile: Bool = false, key: String?, isCompressible: Bool = true,
        completion: (@Sendable (Result<Payload, LinkspanError>) -> Void)?,
        accepted: (@Sendable (String) -> Void)? = nil
    ) {
        let form = Form(kind)
        var rare = CommandExtras.Rare(key: key, accepted: accepted)
        if case .deliver(let orderingKey) = kind { rare.name = orderingKey }
        self.init(
            id: id, form: form,
            message: OutboundMessage(
                event: event, payload: payload, isVolatile: isVolatile, isCompressible: isCompressible),
            extras: CommandExtras(CommandExtras.Common(completion: completion, timeout: timeout), rare))
    }

    /// Makes a command to be sent at once, whose outcome nobody asks for.
    ///
    /// It gets its identity when it has to wait.
    @usableFromInline
    package init(
        sending event: String, payload: Payload, isVolatile: Bool = false,
        isCompressible: Bool = true
    ) {
        self.init(
            id: .none, form: .send,
            message: OutboundMessage(
                event: event, payload: payload, isVolatile: isVolatile, isCompressible: isCompressible),
            extras: CommandExtras())
    }

    /// Makes a command to be sent in the place of one that waits under the same key.
    @usableFromInline
    init(
        replacing key: String?, event: String, payload: Payload, isVolatile: Bool = false,
        isCompressible: Bool = true
    ) {
        self.init(sending: event, payload: payload, isVolatile: isVolatile, isCompressible: isCompressible)
        if let key { self.replacing = key }
    }

    /// Makes a command of a delivery that an earlier process left.
    init(restored delivery: StoredDelivery) {
        self.init(
            .deliver(orderingKey: delivery.orderingKey), event: delivery.event, payload: delivery.payload,
            timeout: delivery.timeout, key: delivery.key, isCompressible: delivery.isCompressible)
        self.extras.changeCommon {
            $0.isRestored = true
            $0.refusals = Int32(clamping: delivery.refusals)
        }
    }
}

// MARK: - What it is made of

extension Command {
    /// The delivery semantics of the command.
    public var kind: Kind {
        switch self.form {
        case .send: .send
        case .request: .request
        case .deliver: .deliver(orderingKey: self.extras.rare { $0.name ?? "" })
        case .outcome: .outcome
        }
    }

    /// The name of the event.
    public var event: String { self.message.event }

    /// The arguments.
    public var payload: Payload {
        get { self.message.payload }
        set { self.message.payload = newValue }
    }

    /// The time limit for the whole command, counted from its creation; nil for no limit.
    public var timeout: Duration? {
        get { self.extras.common { $0.timeout } }
        set { self.extras.changeCommon { $0.timeout = newValue } }
    }

    /// The time for which the connection holds the command back; nil for none.
    ///
    /// It waits in the buffer, within the limits of that, and can be cancelled. After the delay it is dealt with as if it
    /// were performed then; its time limit begins then.
    public var delay: Duration? {
        get { self.extras.delay }
        set { self.extras.delay = newValue }
    }

    /// Left out, rather than kept, when it cannot be sent at once.
    public var isVolatile: Bool {
        get { self.message.isVolatile }
        set { self.message.isVolatile = newValue }
    }

    /// The idempotency key by which a server recognises a repeated delivery; see ``DeliveryOptions/keyPlacement``.
    ///
    /// Nil for one that the SDK makes.
    public var key: String? {
        get { self.extras.rare { $0.key } }
        set { self.extras.changeRare { $0.key = newValue } }
    }

    /// The key under which it takes the place of a command that waits with the same key; nil for none.
    ///
    /// For sends alone.
    public var replacing: String? {
        get { self.form == .send ? self.extras.rare { $0.name } : nil }
        set { if self.form == .send { self.extras.changeRare { $0.name = newValue } } }
    }

    /// Whether the SDK has made the key.
    var hasMadeKey: Bool { self.extras.common { $0.hasMadeKey } }

    /// Gives a delivery without a key of its own one that the SDK makes.
    mutating func makeKey(_ prefix: String) {
        let key = "\(prefix).\(self.id.number)"
        self.extras.changeRare { $0.key = key }
        self.extras.changeCommon { $0.hasMadeKey = true }
    }

    /// The progress of the command, as listed by ``ConnectionHandler/commands``; `waiting` before that.
    public var stage: Stage {
        get { self.extras.common { $0.stage } }
        set { self.extras.changeCommon { $0.stage = newValue } }
    }

    /// The command as it is listed: with its stage, and without its callbacks, which only its connection calls.
    func listed(_ stage: Stage) -> Self {
        var listed = self
        listed.extras.changeCommon { ($0.stage, $0.completion) = (stage, nil) }
        if self.wantsReceipt { listed.extras.changeRare { $0.accepted = nil } }
        return listed
    }

    /// The number of times the server has asked for a delivery to come later.
    private(set) var refusals: Int {
        get { Int(self.extras.common { $0.refusals }) }
        set { self.extras.changeCommon { $0.refusals = Int32(clamping: newValue) } }
    }

    /// Counts that the server has asked for a delivery to come later.
    mutating func noteRefusal() { self.refusals += 1 }

    /// Whether an earlier process left it, and may have sent it.
    var isRestored: Bool { self.extras.common { $0.isRestored } }

    /// Whether it has left its queue before the store had committed it.
    var isUnkept: Bool {
        get { self.extras.common { $0.isUnkept } }
        set { self.extras.changeCommon { $0.isUnkept = newValue } }
    }

    /// Called exactly once with the outcome, on the connection's executor.
    var completion: (@Sendable (Result<Payload, LinkspanError>) -> Void)? {
        get { self.extras.completion }
        set { self.extras.changeCommon { $0.completion = newValue } }
    }

    /// Whether it is a send without a time limit, whose outcome nobody asks for.
    var isPlain: Bool { self.form == .send && self.extras.isEmpty }

    /// The key under which it replaces a waiting send; one that is held back replaces none yet.
    var replacedKey: String? { self.delay == nil ? self.replacing : nil }
    /// Whether it may wait for a newer one that takes its place.
    var isReplaceable: Bool { !self.isVolatile && self.replacedKey != nil }

    var isSend: Bool { self.form == .send }

    var isRequest: Bool { self.form == .request }

    /// Whether it is sent again when it is not answered.
    var isDelivery: Bool { self.form == .deliver }

    /// Whether it is a delivery, or waits for the outcome of one.
    var isOfDelivery: Bool { self.form == .deliver || self.form == .outcome }

    /// Whether somebody asks for the key of the delivery.
    var wantsReceipt: Bool { self.extras.rare { $0.accepted != nil } }

    /// Whether a connection that has failed for good refuses it: volatile commands are left out in silence, as always,
    /// and deliveries may be kept.
    func isRefused(keepingDeliveries keepsDeliveries: Bool) -> Bool {
        !self.isVolatile && !(self.isOfDelivery && keepsDeliveries)
    }

    /// Gives a request the number that its reply will have.
    mutating func setRequestID(_ id: UInt64) { self.message.requestID = id }

    /// Gives the command an identity, if it has none.
    mutating func identify() { if self.id == .none { self.id = ID.next() } }

    package var byteCount: Int { self.event.utf8.count + self.payload.byteCount }

    /// Reports the outcome of the command to its caller.
    ///
    /// For implementations of ``Connection``: call it exactly once for each command that was taken, outside all
    /// locks.
    public func finish(_ outcome: Result<Payload, LinkspanError>) { self.completion?(outcome) }

    /// Reports to the caller that a delivery is accepted, under a key.
    ///
    /// For implementations of ``Connection``: call it at most once, before ``finish(_:)``, outside all locks.
    public func accept(_ key: String) { self.extras.rare { $0.accepted }?(key) }

    /// The error for a reply that is no success.
    func failure(_ code: LinkspanError.Code, _ message: String, details: Payload) -> LinkspanError {
        LinkspanError(code, "'\(self.event)' \(message)", certainty: .unknown, details: details)
    }
}

extension Command {
    /// Performs a command and waits for its outcome; cancelling the task gives the command up.
    static func outcome(
        of kind: Kind, event: String, payload: Payload, after delay: Duration? = nil, timeout: Duration?,
        key: String? = nil, isCompressible: Bool = true,
        perform: (Command) throws(LinkspanError) -> Void, cancel: @Sendable (ID) -> Void
    ) async throws(LinkspanError) -> Payload {
        let id = ID.next()
        return try await Self.value(perform: perform, cancel: { cancel(id) }) { fulfill in
            var command = Command(
                kind, id: id, event: event, payload: payload, timeout: timeout, key: key,
                isCompressible: isCompressible, completion: fulfill)
            if let delay { command.delay = delay }
            return command
        }
    }

    /// Performs a delivery and waits until it is accepted; cancelling the task before that gives the delivery up.
    static func receipt(
        of kind: Kind, event: String, payload: Payload, timeout: Duration?, key: String?, isCompressible: Bool,
        perform: (Command) throws(LinkspanError) -> Void, cancel: @Sendable (ID) -> Void
    ) async throws(LinkspanError) -> String {
        let id = ID.next()
        return try await Self.value(perform: perform, cancel: { cancel(id) }) { fulfill in
            // The first of the two counts: a delivery that is refused has an outcome and no key.
            let accepted = Promise<Result<String, LinkspanError>>()
            accepted.whenFulfilled(fulfill)
            return Command(
                kind, id: id, event: event, payload: payload, timeout: timeout, key: key, isCompressible: isCompressible
            ) { outcome in
                // Counts when the delivery was refused, or the connection does not tell that it has accepted it.
                accepted.fulfill(outcome.map { _ in key ?? event })
            } accepted: { key in
                accepted.fulfill(.success(key))
            }
        }
    }

    /// Performs a command and waits until it calls back; calls `cancel` when the task is cancelled meanwhile.
    ///
    /// - Parameters:
    ///   - perform: takes the command, or throws and never calls back.
    ///   - cancel: gives the command up; does nothing before it was performed.
    ///   - make: makes the command that calls back, once.
    /// - Returns: what it called back with.
    /// - Throws: that error, or the one of `perform`.
    private static func value<Value: Sendable>(
        perform: (Command) throws(LinkspanError) -> Void, cancel: @Sendable () -> Void,
        make: (@escaping @Sendable (Result<Value, LinkspanError>) -> Void) -> Command
    ) async throws(LinkspanError) -> Value {
        let result = await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Result<Value, LinkspanError>, Never>) in
                do throws(LinkspanError) {
                    try perform(make { continuation.resume(returning: $0) })
                } catch {
                    return continuation.resume(returning: .failure(error))
                }
                // The handler below may have run too early for the command to be there.
                if Task.isCancelled { cancel() }
            }
        } onCancel: {
            cancel()
        }
        return try result.get()
    }
}
