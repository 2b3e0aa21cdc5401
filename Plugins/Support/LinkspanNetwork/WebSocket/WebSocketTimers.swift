internal import LinkspanRuntime

/// The timers of a channel; nil for those that do not run.
struct WebSocketTimers {
    /// For the closing handshake.
    var deadline: (any ScheduledWork)?
    /// For the next ping, or the answer to the last one.
    var ping: (any ScheduledWork)?
    /// For bytes that are decompressed in a later turn.
    var turn: (any ScheduledWork)?
    /// Over an unfinished message, with the progress at the start.
    var watch: (messages: Int, bytes: Int, timer: any ScheduledWork)?

    mutating func cancel() {
        self.deadline?.cancel()
        self.ping?.cancel()
        self.turn?.cancel()
        self.watch?.timer.cancel()
        self = Self()
    }
}
