public import Linkspan

/// The messages of a conversation in order and without repetition, those that were missed included, over any connection.
///
/// ```swift
/// let lobby = try MessageHistory<Line>(
///     over: connection, after: lastSeen, event: "message", offset: { $0.seq },
///     missed: { after in ("since", try Payload(after)) }
/// ) { news in
///     switch news {
///     case .item(let line): show(line)
///     case .gap(let lost): showGap(lost)
///     }
/// }
/// ```
///
/// Every message has an offset, which counts upwards. With each new session, and wherever one is missing, the server is asked for the messages after
/// ``position``; new messages wait meanwhile, and follow in order. Repeated messages are dropped. What the server does not have any more is
/// a gap. Keep ``position`` to go on there in the next process.
public final class MessageHistory<Item: Sendable>: Sendable {
    /// An answer of the server.
    public struct Page: Sendable {
        /// The messages.
        public var items: [Item]
        /// The number of messages before them that the server does not have any more; nil for none.
        public var lost: Int?
        /// Whether there are more behind them.
        public var hasMore: Bool

        /// Makes an answer.
        public init(items: [Item], lost: Int? = nil, hasMore: Bool = false) {
            self.items = items
            self.lost = lost
            self.hasMore = hasMore
        }
    }

    private let connection: any Connection
    private let item: @Sendable (Message) throws -> Item?
    private let offset: @Sendable (Item) -> Int
    private let identity: @Sendable (Item) -> String?
    private let missed: (@Sendable (_ after: Int) throws -> (event: String, arguments: Payload))?
    private let page: @Sendable (Payload) throws -> Page
    private let onNews: @Sendable (HistoryNews<Item>) -> Void
    private let state: Guarded<HistoryMerge<Item>>

    /// Begins to follow a conversation.
    ///
    /// - Parameters:
    ///   - connection: the connection; it is held until ``end()``.
    ///   - position: the offset of the last message that was seen; nil to begin with the next that arrives.
    ///   - event: the event of a message.
    ///   - isDense: whether offsets count up by one, so that a skipped one is a missing message.
    ///   - item: reads a message; nil when it belongs to another conversation.
    ///   - offset: the offset of a message.
    ///   - identity: the identity by which a message that is repeated under another offset is recognised; nil for none.
    ///   - missed: makes the request for the messages after an offset; nil for servers that repeat it by themselves.
    ///   - page: reads the answer to it.
    ///   - onNews: gets messages and gaps, in order, on the connection's executor.
    /// - Throws: `LinkspanError` with code `released`.
    public init(
        over connection: any Connection, after position: Int? = nil, event: String, isDense: Bool = true,
        item: @escaping @Sendable (Message) throws -> Item?, offset: @escaping @Sendable (Item) -> Int,
        identity: @escaping @Sendable (Item) -> String? = { _ in nil },
        missed: (@Sendable (_ after: Int) throws -> (event: String, arguments: Payload))? = nil,
        page: @escaping @Sendable (Payload) throws -> Page, onNews: @escaping @Sendable (HistoryNews<Item>) -> Void
    ) throws(LinkspanError) {
        self.connection = connection
        (self.item, self.offset, self.identity) = (item, offset, identity)
        (self.missed, self.page, self.onNews) = (missed, page, onNews)
        self.state = Guarded(HistoryMerge(after: position, isDense: isDense, canAsk: missed != nil))
        self.state.own(
            try connection.subscribe(
                to: event, once: false, onMark: { [weak self] in self?.note($0) },
                { [weak self] in self?.receive($0) }))
        self.state.own(connection.onStateChange { [weak self] in self?.follow($0) })
    }

    /// The offset of the last message that was delivered, or that the server named; nil before the first.
    public var position: Int? { self.state.withLock { $0.position } }

    /// Continues after an offset that the server has named, even if it is lower.
    public func reset(to position: Int) { self.tell { $0.reset(to: position, self.identity) } }

    /// Notes the offset of a message that the app knows without receiving it, such as one of its own.
    public func note(_ offset: Int) { self.tell { $0.note(offset, self.identity) } }

    /// Ends the history; nothing is delivered afterwards.
    public func end() { self.state.end() }
}

extension MessageHistory where Item: Decodable {
    /// Begins to follow a conversation whose events have the message as their argument, and whose answers have a list of messages; see
    /// ``init(over:after:event:isDense:item:offset:identity:missed:page:onNews:)``.
    public convenience init(
        over connection: any Connection, after position: Int? = nil, event: String, isDense: Bool = true,
        offset: @escaping @Sendable (Item) -> Int,
        missed: (@Sendable (_ after: Int) throws -> (event: String, arguments: Payload))? = nil,
        onNews: @escaping @Sendable (HistoryNews<Item>) -> Void
    ) throws(LinkspanError) {
        try self.init(
            over: connection, after: position, event: event, isDense: isDense, item: { try $0.decode(Item.self) },
            offset: offset, missed: missed, page: { Page(items: try $0.decode([Item].self)) }, onNews: onNews)
    }
}

// MARK: - What happens

extension MessageHistory {
    private func receive(_ message: Message) {
        guard let item = try? self.item(message) else { return }
        let offset = self.offset(item)
        self.tellAndAsk { $0.receive(item, at: offset, self.identity) }
    }

    private func note(_ mark: Continuity) {
        // A new session is a change of state.
        if case .gap(.overflow) = mark { self.tellAndAsk { ([], $0.interrupt()) } }
    }

    private func follow(_ change: StateChange) {
        guard change.to == .connected else { return }
        // A session that was resumed has missed nothing but the answer that was on its way.
        guard change.continuity != .continuous || self.state.withLock({ $0.lacksAnswer }) else { return }
        self.tellAndAsk { ([], $0.interrupt()) }
    }

    private func ask(_ question: HistoryMerge<Item>.Question) {
        guard let missed = self.missed else { return }
        do {
            let (event, arguments) = try missed(question.after)
            // By the completion, which comes in one order with the events.
            try self.connection.perform(
                Command(.request, event: event, payload: arguments) { [weak self] outcome in
                    self?.answered(question.number, outcome)
                })
        } catch {
            self.fail(question.number, error)
        }
    }

    private func answered(_ number: UInt64, _ outcome: Result<Payload, LinkspanError>) {
        do {
            let page = try self.page(try outcome.get())
            let items = page.items.map { (offset: self.offset($0), item: $0) }
            self.tellAndAsk {
                $0.answer(number, items, lost: page.lost, hasMore: page.hasMore, self.identity)
            }
        } catch {
            self.fail(number, error)
        }
    }

    private func fail(_ number: UInt64, _ error: any Error) {
        let isGone = (error as? LinkspanError)?.code == .disconnected
        self.tell { $0.fail(number, isGone: isGone, self.identity) }
    }

    private func tell(_ body: (inout HistoryMerge<Item>) -> [HistoryNews<Item>]) {
        self.tellAndAsk { (body(&$0), nil) }
    }

    private func tellAndAsk(
        _ body: (inout HistoryMerge<Item>) -> ([HistoryNews<Item>], HistoryMerge<Item>.Question?)
    ) {
        let (news, question) = self.state.beforeEnd(body) ?? ([], nil)
        for item in news { self.onNews(item) }
        if let question { self.ask(question) }
    }
}
