internal import DequeModule

/// The next thing of a conversation; see ``MessageHistory``.
public enum HistoryNews<Item: Sendable>: Sendable {
    /// A message.
    case item(Item)
    /// The number of messages lost here; nil when it is unknown.
    case gap(lost: Int?)
}

/// Merges missed and new items: they come in with their offsets, and go out once and in order.
struct HistoryMerge<Item: Sendable>: Sendable {
    typealias News = HistoryNews<Item>

    /// The request to make: the items after an offset.
    struct Question: Sendable, Hashable {
        var number: UInt64
        var after: Int
    }

    /// The most items that are held while an answer is awaited.
    static var heldLimit: Int { 10_000 }
    /// The number of identities that are remembered.
    static var identityLimit: Int { 10_000 }
    /// The offsets that are taken, since the server chooses them: sums and differences of two must not overflow.
    static var offsets: ClosedRange<Int> { .min / 4 ... .max / 4 }

    private let isDense: Bool
    private let canAsk: Bool
    private(set) var position: Int?
    /// The items that wait for a missing one before them, by offset; nil for one that the app has.
    private var held: [Int: Item?] = [:]
    private var question: Question?
    /// Whether the connection was lost before the last history request was answered.
    private var isOwed = false
    private var lastNumber: UInt64 = 0
    /// Whether items were dropped for want of room while an answer was awaited.
    private var hasDropped = false
    private var known: Set<String> = []
    private var order: Deque<String> = []

    init(after position: Int?, isDense: Bool, canAsk: Bool) {
        self.position = position.flatMap { Self.offsets.contains($0) ? $0 : nil }
        self.isDense = isDense
        self.canAsk = canAsk
    }

    /// Messages may be missing since the position.
    mutating func interrupt() -> Question? { self.position.flatMap { self.ask(after: $0) } }

    /// An item has arrived.
    ///
    /// - Returns: the items for the app, and the request to make.
    mutating func receive(_ item: Item, at offset: Int, _ identity: (Item) -> String?) -> ([News], Question?) {
        guard Self.offsets.contains(offset) else { return ([], nil) }
        if let position = self.position, offset <= position { return ([], nil) }
        if self.question != nil {
            self.hold(item, at: offset)
            return ([], nil)
        }
        var news: [News] = []
        if let position = self.position, self.isDense, offset > position + 1 {
            self.hold(item, at: offset)
            if let question = self.ask(after: position) { return ([], question) }
            self.release(into: &news, identity)
            return (news, nil)
        }
        self.position = offset
        self.tell(item, into: &news, identity)
        // Items that the app noted ahead.
        self.releaseNext(into: &news, identity)
        return (news, nil)
    }

    /// The app knows the item of an offset without having received it, such as one of its own.
    mutating func note(_ offset: Int, _ identity: (Item) -> String?) -> [News] {
        guard Self.offsets.contains(offset) else { return [] }
        guard let position = self.position else {
            self.position = offset
            return []
        }
        guard offset > position else { return [] }
        var news: [News] = []
        if self.held.index(forKey: offset) == nil, self.held.count < Self.heldLimit {
            self.held.updateValue(nil, forKey: offset)
        }
        if self.question == nil { self.releaseNext(into: &news, identity) }
        return news
    }

    /// The server's position of the conversation, which counts even if it is lower.
    mutating func reset(to position: Int, _ identity: (Item) -> String?) -> [News] {
        guard Self.offsets.contains(position) else { return [] }
        var news: [News] = []
        self.position = position
        (self.question, self.isOwed) = (nil, false)
        self.release(into: &news, identity)
        return news
    }

    /// The server has answered.
    mutating func answer(
        _ number: UInt64, _ items: [(offset: Int, item: Item)], lost: Int?, hasMore: Bool,
        _ identity: (Item) -> String?
    ) -> ([News], Question?) {
        guard let question = self.question, question.number == number else { return ([], nil) }
        self.question = nil
        var news: [News] = []
        if let lost {
            let known = (0...Self.offsets.upperBound).contains(lost) ? lost : nil
            news.append(.gap(lost: known))
            // What is lost makes no second gap.
            self.position = min(question.after + (known ?? 0), Self.offsets.upperBound)
        }
        let ordered = items.filter { Self.offsets.contains($0.offset) }.sorted { $0.offset < $1.offset }
        for (offset, item) in ordered where offset > self.position ?? .min {
            self.advance(to: offset, into: &news)
            self.tell(item, into: &news, identity)
        }
        let hasProgress = (self.position ?? question.after) > question.after
        if hasProgress, hasMore || self.hasDropped || self.hasHole, let next = self.interrupt() { return (news, next) }
        self.release(into: &news, identity)
        return (news, nil)
    }

    /// The server will not answer; when the connection is down, the next session asks again.
    mutating func fail(_ number: UInt64, isGone: Bool, _ identity: (Item) -> String?) -> [News] {
        guard self.question?.number == number else { return [] }
        (self.question, self.isOwed) = (nil, isGone)
        guard !isGone else { return [] }
        var news: [News] = [.gap(lost: nil)]
        if let first = self.held.keys.min() { self.position = first - 1 }
        self.release(into: &news, identity)
        return news
    }
}

extension HistoryMerge {
    private mutating func ask(after position: Int) -> Question? {
        guard self.canAsk else { return nil }
        self.lastNumber += 1
        (self.hasDropped, self.isOwed) = (false, false)
        let question = Question(number: self.lastNumber, after: position)
        self.question = question
        return question
    }

    /// Whether to request history although the server has resumed the session.
    ///
    /// A resumed session repeats the messages that were missed. It does not repeat an answer that was lost with the link,
    /// and it does not bring the items that are missing ahead of held ones.
    var lacksAnswer: Bool { self.isOwed || !self.held.isEmpty }

    /// Whether the next held item is not the next of the conversation.
    private var hasHole: Bool {
        guard self.isDense, let position = self.position, let next = self.held.keys.filter({ $0 > position }).min()
        else { return false }
        return next > position + 1
    }

    private mutating func hold(_ item: Item, at offset: Int) {
        guard self.held.count < Self.heldLimit else { return self.hasDropped = true }
        self.held[offset] = .some(item)
    }

    /// Releases what is held, holes included, in order.
    private mutating func release(into news: inout [News], _ identity: (Item) -> String?) {
        for (offset, item) in self.held.sorted(by: { $0.key < $1.key }) where offset > self.position ?? .min {
            self.advance(to: offset, into: &news)
            if let item { self.tell(item, into: &news, identity) }
        }
        self.held = [:]
        if self.hasDropped { news.append(.gap(lost: nil)) }
        self.hasDropped = false
    }

    /// Releases what is held as far as there is no hole.
    private mutating func releaseNext(into news: inout [News], _ identity: (Item) -> String?) {
        while let position = self.position, let item = self.held.removeValue(forKey: position + 1) {
            self.position = position + 1
            if let item { self.tell(item, into: &news, identity) }
        }
    }

    private mutating func advance(to offset: Int, into news: inout [News]) {
        if self.isDense, let position = self.position, offset > position + 1 {
            news.append(.gap(lost: offset - position - 1))
        }
        self.position = offset
    }

    private mutating func tell(_ item: Item, into news: inout [News], _ identity: (Item) -> String?) {
        if let id = identity(item), !self.isNew(id) { return }
        news.append(.item(item))
    }

    private mutating func isNew(_ id: String) -> Bool {
        guard self.known.insert(id).inserted else { return false }
        self.order.append(id)
        if self.order.count > Self.identityLimit, let oldest = self.order.popFirst() { self.known.remove(oldest) }
        return true
    }
}
