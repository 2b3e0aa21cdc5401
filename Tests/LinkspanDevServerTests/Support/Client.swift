internal import TestSupport
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import TestedBackEnds
internal import Testing

/// A connection, and everything that has happened on it.
final class Client: Sendable {
    let handler: ConnectionHandler
    let states = Journal<StateChange>("state changes")
    let messages = Journal<Message>("messages")

    init(_ configuration: ConnectionConfiguration, by manager: ConnectionManager, on loop: any NetworkLoop) async throws
    {
        let (states, messages) = (self.states, self.messages)
        // On the loop's thread nothing can happen to the connection before the journals listen.
        let handler = Lock<Result<ConnectionHandler, any Error>?>(nil)
        await withCheckedContinuation { continuation in
            loop.execute {
                let made = Result {
                    let handler = try manager.connect(configuration)
                    _ = handler.onStateChange { states.append($0) }
                    try handler.onAny { messages.append($0) }
                    return handler
                }
                // Through a lock: the thread sanitizer does not see what a continuation orders.
                handler.withLock { $0 = made }
                continuation.resume()
            }
        }
        self.handler = try #require(handler.withLock { $0 }).get()
    }

    /// Waits until it has been connected so many times.
    @discardableResult
    func connected(times: Int = 1) async throws -> StateChange {
        try await self.states.first(times) { $0.to == .connected }[times - 1]
    }

    /// Waits until the link was lost, or an attempt failed, so many times, or it was given up.
    @discardableResult
    func lost(times: Int = 1) async throws -> StateChange.Reason {
        try await self.states.first(times) { $0.to == .disconnected }[times - 1].reason
    }

    /// Waits for messages of an event.
    @discardableResult
    func received(_ event: String, count: Int = 1) async throws -> [Message] {
        try await self.messages.first(count) { $0.event == event }
    }
}
