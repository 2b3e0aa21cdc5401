/// The limits of a server's data before its connection is failed.
package struct SocketIOLimits: Sendable, Hashable {
    /// The most attachments of one packet.
    ///
    /// Both reference sides close the connection above ten (CVE-2026-33151).
    package var maximumAttachments = 10
    /// The most bytes of one packet together with its attachments.
    package var maximumMessageBytes = 16 * 1024 * 1024
    /// The time that the attachments of one packet may take to come.
    package var attachmentsTimeout: Duration = .seconds(30)
    /// The most events of one namespace that are held until its CONNECT is answered.
    ///
    /// After a resumed session they are all that was missed, hence so many.
    var maximumEarlyEvents = 10_000
    /// The most bytes of those events together.
    var maximumEarlyBytes = 16 * 1024 * 1024

    /// The usual limits.
    package init() {}

    /// The usual limits, with the size that the app has chosen.
    init(_ configuration: SocketIOTransport.Configuration) {
        self.maximumMessageBytes = configuration.maximumMessageBytes
    }
}
