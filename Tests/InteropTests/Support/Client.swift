internal import TestSupport
internal import Linkspan
internal import LinkspanNetwork
internal import Testing

/// A connection, and everything that has happened on it.
final class Client: Sendable {
    let handler: ConnectionHandler
    let states = Journal<StateChange>("state changes")
    let messages = Journal<Message>("messages")

    init(_ handler: ConnectionHandler, loop: any NetworkLoop) throws {
        self.handler = handler
        let (states, messages) = (self.states, self.messages)
        _ = handler.onStateChange { states.append($0) }
        try handler.onAny { messages.append($0) }
    }

    /// Waits until it has been connected so many times.
    ///
    /// - Returns: what the last of these changes tells of the link.
    @discardableResult
    func connected(times: Int = 1) async throws -> LinkInfo {
        let changes = try await self.states.first(times) { $0.to == .connected }
        guard case .established(let info) = changes[times - 1].reason else {
            throw LinkspanError(.wrongState, "it is connected for another reason")
        }
        return info
    }

    /// Waits until the link was lost, or an attempt failed, so many times.
    ///
    /// - Returns: why it was the last time.
    @discardableResult
    func lost(times: Int = 1) async throws -> StateChange.Reason {
        try await self.states.first(times) { $0.to == .disconnected }[times - 1].reason
    }

    /// Waits for messages of an event.
    @discardableResult
    func received(_ event: String, count: Int = 1) async throws -> [Message] {
        try await self.messages.first(count) { $0.event == event }
    }

    /// Waits for messages of an event, whose first arguments have a type.
    func values<Value: Decodable>(
        _ event: String, count: Int = 1, as type: Value.Type = Value.self
    ) async throws -> [Value] {
        try await self.received(event, count: count).map { try $0.decode(type) }
    }

    /// Has the server send bytes that break the protocol: the link ends for that, and another one works.
    func expectViolation(by bytes: String) async throws {
        try await self.connected()
        try self.handler.send("raw", bytes)
        let reason = try await self.lost()
        #expect(reason.isLoss)
        #expect(reason.error?.code == .protocolViolation)
        try await self.connected(times: 2)
        try await self.settle()
    }

    /// Stops the server, sends events and deliveries, and starts it again: all arrive once, in order.
    func expectOrder(afterCrashOf server: PythonServer) async throws {
        try await self.connected()
        await server.stop()
        #expect(try await self.lost().error?.code == .connectionLost)
        let answers = Journal<Int>("answers to deliveries")
        for number in 0..<300 {
            try self.handler.send("echo", number)
            try self.handler.perform(
                Command(.deliver(orderingKey: "room"), event: "req", payload: Payload(number)) { outcome in
                    answers.append((try? outcome.get().decode(Int.self)) ?? -1)
                })
        }
        #expect(self.handler.status.waitingCommands == 600)
        try await server.start()
        #expect(try await self.values("echo", count: 300, as: Int.self) == Array(0..<300))
        #expect(try await answers.first(300) == Array(0..<300))
        try await self.settle()
        #expect(self.messages.entries.count == 300)
        #expect(answers.entries.count == 300)
        #expect(self.handler.status.waitingCommands == 0)
    }

    /// Sends a message there and back, so that everything before it has arrived, too.
    func settle() async throws {
        _ = try await self.handler.request("req", "settle", timeout: .seconds(30))
    }
}

extension StateChange.Reason {
    /// Whether another attempt follows.
    var isLoss: Bool {
        if case .lost = self { true } else { false }
    }

    /// Whether no attempt follows, because none can help.
    var isFailure: Bool {
        if case .failed = self { true } else { false }
    }
}
