/// A registration for messages, or for messages and the marks between them.
struct EventListener: Sendable {
    typealias Handler = @Sendable (Message) -> Void
    typealias ItemHandler = @Sendable (EventItem) -> Void

    private enum Body: Sendable {
        case messages(Handler)
        case items(ItemHandler)
    }

    let id: UInt64
    /// Whether it takes one message and is then removed.
    let isOnce: Bool
    private let body: Body

    init(id: UInt64, isOnce: Bool = false, _ handler: @escaping Handler) {
        self.id = id
        self.isOnce = isOnce
        self.body = .messages(handler)
    }

    init(id: UInt64, items handler: @escaping ItemHandler) {
        self.id = id
        self.isOnce = false
        self.body = .items(handler)
    }

    var wantsMarks: Bool { if case .items = self.body { true } else { false } }

    func hear(_ message: Message) {
        switch self.body {
        case .messages(let handler): handler(message)
        case .items(let handler): handler(.message(message))
        }
    }

    func hear(_ mark: Continuity) {
        if case .items(let handler) = self.body { handler(.continuity(mark)) }
    }
}
