internal import LinkspanRuntime

/// The connection whose turn the calling thread is making.
enum CurrentTurn {
    private static let mark = ThreadMark()

    static func isOf(_ core: ConnectionCore) -> Bool { self.mark.isSet(to: core) }

    /// Runs `body` as a turn of `core`.
    static func make(of core: ConnectionCore, _ body: () -> Void) { self.mark.set(to: core, body) }
}
