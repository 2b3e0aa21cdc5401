/// One who hears messages.
struct EventListener: Sendable {
    typealias Handler = @Sendable (Message) -> Void
    typealias ItemHandler = @Sendable (EventItem) -> Void

    private enum Ear: Sendable {
        case messages(Handler)
        case items(ItemHandler)
        /// One message, unless the gate is closed before.
        case once(OnceGate, Handler)
    }

    let id: UInt64
    let isOnce: Bool
    private let ear: Ear

    init(id: UInt64, _ handler: @escaping Handler) { self.init(id: id, .messages(handler)) }

    init(id: UInt64, items handler: @escaping ItemHandler) { self.init(id: id, .items(handler)) }

    init(id: UInt64, once gate: OnceGate, _ handler: @escaping Handler) {
        self.init(id: id, .once(gate, handler), isOnce: true)
    }

    private init(id: UInt64, _ ear: Ear, isOnce: Bool = false) {
        self.id = id
        self.isOnce = isOnce
        self.ear = ear
    }

    var wantsMarks: Bool { if case .items = self.ear { true } else { false } }

    func hear(_ message: Message) {
        switch self.ear {
        case .messages(let handler): handler(message)
        case .items(let handler): handler(.message(message))
        case .once(let gate, let handler): if gate.pass() { handler(message) }
        }
    }

    func hear(_ mark: Continuity) {
        if case .items(let handler) = self.ear { handler(.continuity(mark)) }
    }
}
