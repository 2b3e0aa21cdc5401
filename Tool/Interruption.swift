import LinkspanLifecycle

/// Ctrl-C and SIGTERM, on which a command prints what it has before it ends; a second one ends it at once.
enum Interruption {
    /// The exit status of an interrupted command, as shells have it for SIGINT.
    static let status: Int32 = 130

    /// Waits for the signal, or until the task is cancelled.
    static func wait() async {
        let (signals, signal) = AsyncStream<Void>.makeStream()
        async let _: Void? = try? UnixSignalSource().run { _ in signal.yield() }
        for await _ in signals { break }
    }
}
