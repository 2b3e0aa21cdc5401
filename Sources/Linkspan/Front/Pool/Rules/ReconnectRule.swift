/// Held, opened and never asked to connect: connects.
///
/// What its holders have yet to open waits for them: its messages would be missed. What was connected once brings itself
/// back; what was disconnected by request or for good stays so.
struct ReconnectRule: KeeperRule {
    var period: Duration? { nil }

    func decide(_ connection: KeptConnection) -> KeeperAction? {
        let isNew = connection.state == .created && !connection.isAttempting && !connection.isUnopened
        return connection.holders > 0 && isNew ? .connect : nil
    }
}
