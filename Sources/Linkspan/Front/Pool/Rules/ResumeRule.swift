/// The path is back or the app is in front again: tries soon.
///
/// The cause was local, so there is no herd to fear: attempts are spread just enough not to begin all at once.
struct ResumeRule: KeeperRule {
    var period: Duration? { nil }

    func decide(_ connection: KeptConnection) -> KeeperAction? {
        let isBack = connection.signal == .pathAvailable && !connection.isInBackground
        return connection.signal == .foreground || isBack
            ? KeeperAction(kind: .resume(within: .milliseconds(250))) : nil
    }
}
