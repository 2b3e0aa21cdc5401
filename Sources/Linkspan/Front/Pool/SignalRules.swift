/// The path is gone, or the app has been in the background for its idle timeout: drops the link.
///
/// When the path is gone, attempts become rare rather than none, because a report of the path may be wrong. In the
/// background there are none until the app comes back.
struct SuspendRule: KeeperRule {
    /// The shortest time between attempts while the path is said to be away.
    var patience = Duration.seconds(60)

    /// Whether the path has just gone, or the app's time in the background is over.
    func canExecute(_ kept: KeptConnection) -> Bool { kept.signal == .pathLost || kept.signal == .background }

    /// Suspends the connection.
    func execute(_ kept: KeptConnection) {
        if kept.signal == .background {
            kept.connection.suspend(LinkspanError(.suspended, "the app is in the background"), patience: nil)
        } else {
            kept.connection.suspend(LinkspanError(.pathLost, "the network path is gone"), patience: self.patience)
        }
    }
}

/// The path is back or the app is in front again: tries soon.
///
/// The cause was local, so there is no herd to fear: attempts are spread just enough not to begin all at once.
struct ResumeRule: KeeperRule {
    /// The span over which attempts are spread.
    var spread = Duration.milliseconds(250)

    /// Whether the app has just come to the foreground, or the path has come back and the app is not suspended.
    func canExecute(_ kept: KeptConnection) -> Bool {
        kept.signal == .foreground || (kept.signal == .pathAvailable && !kept.isInBackground)
    }

    /// Resumes the connection.
    func execute(_ kept: KeptConnection) { kept.connection.resume(within: self.spread) }
}
