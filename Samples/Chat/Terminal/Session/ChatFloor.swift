/// A conversation: the requests and events of an interactive session.
///
/// A session calls one request at a time, in the order of the commands. None waits for the server's answer, which is an
/// event, so that nothing holds up later lines. Requests that fail say why in a sentence. They end soon when
/// their task is cancelled: leaving waits for them.
protocol ChatFloor: Sendable {
    /// What happens, for one listener; it ends when nothing can happen any more.
    var events: AsyncStream<ChatFloorEvent> { get }

    /// The current room, if there is one; changes of it are events.
    var room: String? { get async }

    /// Says a line in the current room.
    ///
    /// The line comes back as an event at once, and again when it is confirmed or rejected. May wait while very many
    /// are under way.
    func say(_ text: String) async throws(ChatRefusal)

    /// Joins a room, which becomes the current one until the server refuses it.
    func join(_ room: String) async throws(ChatRefusal)

    /// Leaves a room.
    func leave(_ room: String) async throws(ChatRefusal)

    /// Says something to one person alone.
    func message(_ name: String, _ text: String) async throws(ChatRefusal)

    /// Gives the current room another topic; an empty one takes it away.
    func setTopic(_ topic: String) async throws(ChatRefusal)

    /// Asks who is in the current room.
    func who() async throws(ChatRefusal)

    /// Tells the current room that we are typing.
    func typing() async

    /// Takes another name; refused while lines are unconfirmed.
    func nick(_ name: String) async throws(ChatRefusal)

    /// Lets another adapter carry the session.
    ///
    /// Without a URL the server is the one that configuration names for the adapter, or else the present one.
    func switchTransport(_ name: String, url: String?) async throws(ChatRefusal)

    /// Disconnects until ``goOnline()``.
    func goOffline() async throws(ChatRefusal)

    /// Connects again.
    func goOnline() async throws(ChatRefusal)

    /// What the connection is doing and why, in some lines.
    func explain() async -> String

    /// What waits in the outbox, in some lines.
    func outbox() async throws(ChatRefusal) -> String

    /// Waits until every line is confirmed or rejected, or the time is up.
    ///
    /// - Returns: how many lines are still open.
    func drain(within limit: Duration) async -> Int
}

/// The reason for a failure, as a sentence for the user.
struct ChatRefusal: Error, Hashable, Sendable {
    var sentence: String
}

/// What happens on a floor.
enum ChatFloorEvent: Sendable {
    /// A line; its `id` again reports the outcome.
    case line(ChatFloorLine)
    case joined(String, room: String)
    case left(String, room: String)
    case typing(String, room: String)
    /// Another room is the current one; nil for none.
    case room(String?)
    /// The server does not let us into a room.
    case out(String, why: String)
    /// Who is in a room, for somebody who has asked.
    case present([String], room: String)
    /// Something that was asked for is not done; the sentence says why.
    case refused(String)
    /// The topic of a room; empty when there is none any more.
    case topic(String, room: String, by: String?)
    /// Who is in a room, ourselves included.
    case members([String], room: String)
    /// What became of the connection; the sentence is nil when there is nothing to tell.
    case connection(ShownStatus, sentence: String?)
    /// Something to tell, in a sentence.
    case notice(String)
    /// How many lines are not confirmed yet.
    case waiting(Int)
    case roundTrip(Duration)
}

/// A line of a room.
struct ChatFloorLine: Hashable, Sendable {
    enum State: Hashable, Sendable {
        case pending
        case confirmed
        case rejected(why: String)
    }

    /// Tells it from all other lines.
    var id: String
    var room: String
    var from: String
    var text: String
    var isOwn = false
    var state = State.confirmed
    /// Who alone hears it; nil for everybody in the room.
    var recipient: String?
}

/// Where the connection stands, for a status line.
enum ShownStatus: Hashable, Sendable {
    case connecting
    case connected(over: String)
    case reconnecting(at: ContinuousClock.Instant)
    case offline
    case failed(String)
}
