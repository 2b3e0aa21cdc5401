/// The path is gone, or the app has been in the background for the manager's `backgroundIdleTimeout`: drops the link.
///
/// When the path is gone, attempts become rare rather than none, because a report of the path may be wrong. In the
/// background there are none until the app comes back.
struct SuspendRule: KeeperRule {
    var period: Duration? { nil }

    func decide(_ connection: KeptConnection) -> KeeperAction? {
        switch connection.signal {
        case .background:
            let error = LinkspanError(.suspended, "the app is in the background")
            return KeeperAction(kind: .suspend(error, patience: nil))
        case .pathLost:
            let error = LinkspanError(.pathLost, "the network path is gone")
            return KeeperAction(kind: .suspend(error, patience: .seconds(60)))
        case .pathAvailable, .foreground, nil: return nil
        }
    }
}
