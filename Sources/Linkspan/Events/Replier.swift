internal import LinkspanLock

/// The right to answer one message once.
final class Replier: Sendable {
    private let id: UInt64
    private let link: Lock<(any Link)?>

    init(id: UInt64, link: any Link) {
        self.id = id
        self.link = Lock(link)
    }

    func reply(_ payload: Payload) {
        let link = self.link.withLock { link in
            defer { link = nil }
            return link
        }
        link?.reply(to: self.id, with: payload)
    }
}
