import Linkspan

/// An event of the chat, for its user interface.
enum ChatEvent: Sendable {
    /// Somebody said something.
    case line(ChatVocabulary.Line)
    /// The user says a line; its outcome follows.
    case said(id: String, room: String, text: String)
    /// The user sends a private message; its outcome follows.
    case wrote(id: String, to: String, text: String)
    /// Somebody said something to us alone.
    case direct(ChatVocabulary.Direct)
    /// A room has another topic.
    case topic(ChatVocabulary.Topic)
    /// The people in a room, for somebody who has asked.
    case present(room: String, names: [String])
    /// Something that was asked for is not done: why.
    case refused(String)
    /// A changed configuration was applied.
    case adopted
    /// The server has answered: how long that took.
    case roundTrip(Duration)
    /// A line of ours will be delivered; with an outbox, even if the chat is killed.
    case kept(id: String, text: String)
    /// A line of an earlier visit is in its room, or was refused: why.
    case late(text: String, refusal: String?)
    /// A line of ours is in its room.
    case confirmed(id: String)
    /// A line of the user was rejected or failed.
    case rejected(id: String, text: String, why: String)
    /// Lines that were said while we were away and are gone; nil when their number is not known.
    case missed(room: String, lines: Int?)
    /// We are in a room, for the first time or again.
    case entered(room: String)
    /// The server does not let us into a room.
    case out(room: String, why: String)
    /// The people who are in a room, first of all and whenever one is among them by another name.
    case members(room: String, names: [String])
    case joined(room: String, name: String)
    case left(room: String, name: String)
    case typing(room: String, name: String)
}

extension ChatEvent {
    /// The sentence for an event that is only told.
    var notice: String? {
        switch self {
        case .missed(_, let count?): "\(count.lines) missed"
        case .missed(_, nil): "lines may have been missed: the server has lost its history"
        case .late(let text, nil): "delivered from an earlier visit: \(VisibleText.of(text))"
        case .late(let text, let why?): "not delivered from an earlier visit: \(VisibleText.of(text)) (\(why))"
        default: nil
        }
    }
}

extension Int {
    /// So many lines.
    var lines: String { self == 1 ? "1 line" : "\(self) lines" }
}

/// The chat's news: the features write, one reader shows.
struct ChatNews: Sendable {
    /// Everything in order, for one reader.
    let events: AsyncStream<ChatEvent>
    private let writer: AsyncStream<ChatEvent>.Continuation

    init() { (self.events, self.writer) = AsyncStream.makeStream() }

    func post(_ event: ChatEvent) { self.writer.yield(event) }

    /// Ends the events, after those that were posted before.
    func finish() { self.writer.finish() }
}
