/// The link of a connection, with what is known of it alone.
///
/// Not copyable, and called where it is: a reference to the link for each message costs more than a clock. What a link brings
/// while it is being called waits for the next turn, so that the connection cannot let go of it meanwhile.
struct CurrentLink: ~Copyable {
    let link: any Link
    /// Its number, counted from the first attempt.
    let epoch: UInt64
    /// The app's greeting over it.
    var greeting: Task<Void, Never>?
    /// Whether a message or a reply has come over it.
    var hasServerSpoken = false
    /// Whether it was told to read no further.
    var isReadingPaused = false
    /// The replies that wait for room, which no other link can carry; nil while this one has room.
    var waitingReplies: WaitingReplies?

    init(_ link: any Link, epoch: UInt64) { (self.link, self.epoch) = (link, epoch) }

    deinit { self.greeting?.cancel() }
}
