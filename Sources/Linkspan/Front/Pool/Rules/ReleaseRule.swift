/// Not held, and down or idle for its timeout: goes down and is released.
struct ReleaseRule: KeeperRule {
    var period: Duration? { nil }

    func decide(_ connection: KeptConnection) -> KeeperAction? {
        let isDown = connection.state == .disconnected || connection.state == .released
        guard connection.holders == 0, isDown || connection.idleTime >= connection.idleTimeout else { return nil }
        return .release
    }
}
