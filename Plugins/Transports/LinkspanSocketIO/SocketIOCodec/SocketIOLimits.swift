/// The limits of a server's data before its connection is failed.
///
/// All with the usual limits share them: each session, namespace and link refers to this.
package final class SocketIOLimits: Sendable {
    /// The most attachments of one packet.
    ///
    /// Both reference sides close the connection above ten (CVE-2026-33151).
    package let maximumAttachments: Int
    /// The most bytes of one packet together with its attachments.
    package let maximumMessageBytes: Int
    /// The time that may pass before the first attachment of a packet, and between one and the next, while no part of
    /// it comes.
    package let attachmentsTimeout: Duration
    /// The most events of one namespace that are held until its CONNECT is answered.
    ///
    /// After a resumed session they are all that was missed, hence so many.
    let maximumEarlyEvents: Int
    /// The most bytes of those events together.
    let maximumEarlyBytes: Int

    /// The usual limits.
    package static let usual = SocketIOLimits()

    package init(
        maximumAttachments: Int = 10, maximumMessageBytes: Int = 16 << 20, attachmentsTimeout: Duration = .seconds(30),
        maximumEarlyEvents: Int = 10_000, maximumEarlyBytes: Int = 16 << 20
    ) {
        self.maximumAttachments = maximumAttachments
        self.maximumMessageBytes = maximumMessageBytes
        self.attachmentsTimeout = attachmentsTimeout
        self.maximumEarlyEvents = maximumEarlyEvents
        self.maximumEarlyBytes = maximumEarlyBytes
    }

    /// The usual limits but for the size of a message.
    static func with(maximumMessageBytes bytes: Int) -> SocketIOLimits {
        bytes == Self.usual.maximumMessageBytes ? .usual : SocketIOLimits(maximumMessageBytes: bytes)
    }
}
