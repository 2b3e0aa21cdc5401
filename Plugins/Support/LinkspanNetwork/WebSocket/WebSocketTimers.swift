internal import LinkspanRuntime

/// The timers of a channel; nil for those that do not run.
struct WebSocketTimers {
    /// For the next ping or the answer to the last one; from the closing handshake on, for the end of that.
    var main: (any ScheduledWork)?
    /// For bytes that are decompressed in a later turn.
    var turn: (any ScheduledWork)?
    /// Over an unfinished message.
    var watch: (any ScheduledWork)?
    /// Whether four intervals pass between two pings instead of one, to save data.
    var savesData = false

    mutating func cancel() {
        self.main?.cancel()
        self.turn?.cancel()
        self.watch?.cancel()
        self = Self()
    }
}
