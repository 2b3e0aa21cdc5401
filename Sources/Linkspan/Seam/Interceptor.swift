/// A member of a connection's chain that sees, changes, measures and drops messages in both directions.
///
/// The chain is ``ConnectionOptions/interceptors``. Sent messages pass it from the first to the last, received ones from the
/// last to the first, so that the last is next to the wire: a chain of compression and encryption undoes on the way in what it
/// did on the way out. Every method has an implementation that changes nothing.
///
/// ```swift
/// final class TenantStamp: Interceptor {
///     let name = "tenant"
///
///     func send(_ message: inout InterceptedMessage) throws(LinkspanError) {
///         guard !message.isReply else { return }
///         try message.payload.setField("tenant", to: "acme")
///     }
/// }
/// ```
///
/// A method that throws drops the message, and the error is the reason: a command ends with it, a request or delivery also when
/// its reply was dropped. A message from the server that is dropped reaches no listener. ``Connection/explain()``
/// tells how many there were.
///
/// All methods but ``accept(_:)`` run on the connection's executor, one at a time, and must return quickly. What they send over
/// the same connection leaves behind the message.
public protocol Interceptor: AnyObject, Sendable {
    /// The name, for `explain`, logs and errors.
    var name: String { get }

    /// Sees a command in the call that performs it, before it waits or is stored: where the caller's task-local values are.
    ///
    /// The payload may be changed, and ``Command/observed(by:)`` tells the outcome. It may run on any thread, several at a time.
    /// Commands of a ``Greeting`` do not pass it.
    func accept(_ command: inout Command) throws(LinkspanError)

    /// Sees a message that is about to be given to a link: an event, each repetition of a delivery with its key, or the reply
    /// to a message of the server.
    func send(_ message: inout InterceptedMessage) throws(LinkspanError)

    /// Sees a message from the server before anything else does: an event, or the reply to a request or delivery.
    func receive(_ message: inout InterceptedMessage) throws(LinkspanError)

    /// Calls a listener with a message, perhaps inside a span or a measurement; must call `listener` once.
    ///
    /// A sequence is a listener that keeps the message for its reader.
    func handle(_ message: Message, by listener: () -> Void)
}

extension Interceptor {
    /// Changes nothing.
    public func accept(_ command: inout Command) throws(LinkspanError) {}
    /// Changes nothing.
    public func send(_ message: inout InterceptedMessage) throws(LinkspanError) {}
    /// Changes nothing.
    public func receive(_ message: inout InterceptedMessage) throws(LinkspanError) {}
    /// Calls the listener.
    public func handle(_ message: Message, by listener: () -> Void) { listener() }
}

/// A message on its way through a chain of interceptors.
public struct InterceptedMessage: Sendable {
    /// The name of the event; for a reply that of the message it answers, and a change of it has no effect.
    public var event: String
    /// The arguments.
    public var payload: Payload
    /// Whether it is the reply to another message.
    public internal(set) var isReply = false
}
