/// An exchange of the app that begins every new link: to sign in, to resume, to agree on a version.
///
/// Everything else waits until it has ended. If it fails or takes too long, the link is given up and the retry policy
/// decides.
///
/// Told apart by instance: holders of one connection pass on the value that one of them made.
public struct Greeting: Sendable {
    let name: String
    let deadline: Duration
    let body: @Sendable (GreetingChannel) async throws -> Void
    private let instance = InstanceNumber()

    /// Makes a greeting.
    ///
    /// - Parameters:
    ///   - name: for errors and logs.
    ///   - deadline: how long it may take.
    ///   - body: performs the exchange. Its task is cancelled when the link is lost or the deadline passes. An error of
    ///     type ``LinkspanError`` ends the link as it is; use code `credentialsRefused` to have credentials renewed.
    public init(
        _ name: String, deadline: Duration = .seconds(10),
        _ body: @escaping @Sendable (GreetingChannel) async throws -> Void
    ) {
        self.name = name
        self.deadline = deadline
        self.body = body
    }

    /// The name and the instance, as text.
    var comparison: String { "\(self.name) (\(self.instance))" }
}

/// The one link that is being greeted.
public struct GreetingChannel: Sendable {
    let perform: @Sendable (Command) throws(LinkspanError) -> Void
    let cancel: @Sendable (Command.ID) -> Void

    /// Sends an event over this link.
    ///
    /// - Throws: ``LinkspanError``: `encodingFailed`, `disconnected` when the link is gone.
    public func send<each Argument: Encodable>(
        _ event: String, _ arguments: repeat each Argument
    ) throws(LinkspanError) {
        try self.perform(Command(sending: event, payload: Payload(repeat each arguments)))
    }

    /// Sends a typed event over this link.
    ///
    /// - Throws: ``LinkspanError``: `encodingFailed`, `disconnected` when the link is gone.
    public func send<Value: Encodable, Reply>(
        _ event: Event<Value, Reply>, _ value: Value
    ) throws(LinkspanError) {
        try self.perform(Command(sending: event.name, payload: Payload(value, coder: event.coder)))
    }

    /// Sends an event over this link and waits for the reply.
    ///
    /// - Returns: the arguments of the reply.
    /// - Throws: ``LinkspanError``: `encodingFailed`, `disconnected` when the link is gone, `timedOut`, `cancelled`.
    public func request<each Argument: Encodable>(
        _ event: String, _ arguments: repeat each Argument, timeout: Duration = .seconds(10)
    ) async throws(LinkspanError) -> Payload {
        try await Command.outcome(
            of: .request, event: event, payload: Payload(repeat each arguments), timeout: timeout,
            perform: self.perform, cancel: self.cancel)
    }

    /// Sends a typed event over this link and waits for the reply.
    ///
    /// - Throws: ``LinkspanError``: as for the event's name; `decodingFailed` when the reply has another shape.
    public func request<Value: Encodable, Reply: Decodable>(
        _ event: Event<Value, Reply>, _ value: Value, timeout: Duration = .seconds(10)
    ) async throws(LinkspanError) -> Reply {
        try event.reply(
            in: try await Command.outcome(
                of: .request, event: event.name, payload: Payload(value, coder: event.coder), timeout: timeout,
                perform: self.perform, cancel: self.cancel))
    }
}
