public import Linkspan
public import LinkspanRuntime

/// An interceptor that records the conversation of a connection with its server.
///
/// ```swift
/// let recorder = ConversationRecorder()
/// let connection = try ConnectionBuilder("https://staging.chat.example")
///     .transport(.socketIO)
///     .options { $0.interceptors = [recorder] }
///     .connect()
/// ```
///
/// It belongs before every other interceptor, so that it sees what the app sees. What it records may hold secrets: look at it before
/// you commit it.
public final class ConversationRecorder: Interceptor {
    /// `recorder`.
    public let name = "recorder"
    private let scheduler: any Scheduler
    private let start: ContinuousClock.Instant
    private let lines = WatchedState<[Conversation.Line]>([])

    /// Makes a recorder that has heard nothing.
    ///
    /// - Parameter scheduler: the clock of the times in the recording.
    public init(scheduler: any Scheduler = SystemScheduler.shared) {
        self.scheduler = scheduler
        self.start = scheduler.now
    }

    /// The conversation so far.
    public var conversation: Conversation { Conversation(self.lines.value) }

    /// Records an outgoing message.
    public func send(_ message: inout InterceptedMessage) { self.note(.client, message) }

    /// Records an incoming message.
    public func receive(_ message: inout InterceptedMessage) { self.note(.server, message) }

    private func note(_ side: Conversation.Side, _ message: InterceptedMessage) {
        let line = Conversation.Line(
            side, message.event, message.payload.copied, isReply: message.isReply,
            time: self.start.duration(to: self.scheduler.now))
        self.lines.change { $0.append(line) }
    }
}

extension Payload {
    /// The same arguments in memory of their own: a received payload keeps all of its read alive.
    fileprivate var copied: Payload {
        Payload(trustedElements: Array(self.elements)[...], attachments: self.attachments.map { Array($0)[...] })
    }
}
