import Linkspan

/// One person's visit: lines from a source go to the room, what happens goes to the output, until the source ends.
struct ChatSession: Sendable {
    /// How a visit ended.
    enum Ending: Sendable {
        /// The input ended, and so many lines are still unconfirmed.
        case finished(undelivered: Int)
        /// The connection was given up.
        case failed(LinkspanError)
    }

    private let room: ChatRoom
    private let channel: any MessageChannel
    private let transport: String

    /// Prepares a visit.
    init(_ visitor: Visitor, over channel: any MessageChannel, transport: String) throws(LinkspanError) {
        self.room = try ChatRoom(visitor, over: channel)
        self.channel = channel
        self.transport = transport
    }

    /// Visits.
    ///
    /// - Parameters:
    ///   - lines: what the person types.
    ///   - patience: how long unconfirmed lines are waited for at the end of input.
    /// - Returns: how the visit ended.
    func run(lines: AsyncStream<String>, patience: Duration) async -> Ending {
        let (failures, failed) = AsyncStream<LinkspanError>.makeStream()
        let transport = self.transport
        let news = self.channel.onStateChange { change in
            if let sentence = ConnectionNews.sentence(for: change, over: transport) { LineOutput.news(sentence) }
            if case .failed(let error) = change.reason { failed.yield(error) }
        }
        defer { news.cancel() }
        return await withTaskGroup(of: Ending?.self) { group in
            group.addTask {
                await self.room.follow(Self.show)
                return nil
            }
            group.addTask { await self.talk(lines, patience: patience) }
            group.addTask {
                for await error in failures { return .failed(error) }
                return nil
            }
            // The first real ending counts; following the room never ends by itself.
            var ending: Ending?
            while ending == nil, let result = await group.next() { ending = result }
            group.cancelAll()
            return ending ?? .finished(undelivered: 0)
        }
    }

    private func talk(_ lines: AsyncStream<String>, patience: Duration) async -> Ending? {
        do throws(LinkspanError) {
            for await line in lines where !line.isEmpty { try await self.room.say(line) }
        } catch {
            return .failed(error)
        }
        guard !Task.isCancelled else { return nil }
        return .finished(undelivered: await self.room.drain(within: patience))
    }

    private static func show(_ event: ChatRoom.Event) {
        switch event {
        case .line(let line): LineOutput.show("\(line.from): \(line.text)")
        case .joined(let name): LineOutput.news("\(name) joined")
        case .left(let name): LineOutput.news("\(name) left")
        case .missed(let lines):
            LineOutput.news("\(lines.map(String.init) ?? "an unknown number of") lines were missed")
        case .rejected(let text, let why): LineOutput.news("not delivered: \(text) (\(why))")
        case .confirmed: ()
        }
    }
}
