internal import LinkspanRuntime

/// The limits of a server's data before its connection is failed.
///
/// All with the usual limits share them: each session, namespace and link has its own value of this.
package struct SocketIOLimits: Sendable, Hashable {
    private struct Values: Sendable, Hashable {
        var attachments = 10
        var messageBytes = 16 * 1024 * 1024
        var attachmentsTimeout: Duration = .seconds(30)
        var earlyEvents = 10_000
        var earlyBytes = 16 * 1024 * 1024
    }

    private static let usual = Boxed(Values())

    private var values = Self.usual

    /// The most attachments of one packet.
    ///
    /// Both reference sides close the connection above ten (CVE-2026-33151).
    package var maximumAttachments: Int {
        get { self.values.value.attachments }
        set { self.values.value.attachments = newValue }
    }

    /// The most bytes of one packet together with its attachments.
    package var maximumMessageBytes: Int {
        get { self.values.value.messageBytes }
        set { self.values.value.messageBytes = newValue }
    }

    /// The time that may pass before the first attachment of a packet, and between one and the next, while no part of
    /// it comes.
    package var attachmentsTimeout: Duration {
        get { self.values.value.attachmentsTimeout }
        set { self.values.value.attachmentsTimeout = newValue }
    }

    /// The most events of one namespace that are held until its CONNECT is answered.
    ///
    /// After a resumed session they are all that was missed, hence so many.
    var maximumEarlyEvents: Int {
        get { self.values.value.earlyEvents }
        set { self.values.value.earlyEvents = newValue }
    }

    /// The most bytes of those events together.
    var maximumEarlyBytes: Int {
        get { self.values.value.earlyBytes }
        set { self.values.value.earlyBytes = newValue }
    }

    /// The usual limits.
    package init() {}

    /// The usual limits, with this size of a message.
    init(maximumMessageBytes: Int) {
        guard maximumMessageBytes != self.maximumMessageBytes else { return }
        self.maximumMessageBytes = maximumMessageBytes
    }
}
