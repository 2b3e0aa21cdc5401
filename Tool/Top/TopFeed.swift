import Foundation
import Linkspan
import LinkspanRuntime
import LinkspanWebSocket

/// The address of an inspector's feed, and the token that opens it.
struct TopPlace: Sendable {
    var feed: ConnectionURL
    var token: String

    /// Reads the URL that an inspector has printed.
    init?(_ text: String) {
        guard let url = URLComponents(string: text), url.scheme == "http", let host = url.host, let port = url.port,
            let token = url.queryItems?.first(where: { $0.name == "token" })?.value,
            let feed = try? ConnectionURL("ws://\(host):\(port)/feed")
        else { return nil }
        (self.feed, self.token) = (feed, token)
    }
}

/// The feed of an inspector over a connection of the SDK, which comes back by itself.
@available(macOS 15, *)
final class TopFeed: Sendable {
    let model = Lock(TopModel())
    /// Something has changed.
    let changes: AsyncStream<Void>
    private let place: TopPlace
    private let change: AsyncStream<Void>.Continuation
    /// The model with the first batch.
    private let first = Promise<TopModel?>()

    init(_ place: TopPlace) {
        self.place = place
        (self.changes, self.change) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Connects, and follows the feed for as long as the connection is held.
    func open() async throws(LinkspanError) -> ConnectionHandler {
        let transport = WebSocketTransport(.init { $0.protocol = TextMessageProtocol() })
        let source = CredentialSource.provider { [self] _ in
            var credentials = Credentials()
            // The printed token works once; the session that it has made is good for coming back.
            if let session = self.model.withLock({ $0.session }) {
                credentials.headers = [.init("Authorization", Secret("Bearer \(session)"))]
            } else {
                credentials.query = [.init("token", Secret(self.place.token))]
            }
            return credentials
        }
        let configuration = try ConnectionBuilder("\(self.place.feed)").transport(transport).credentials(source).build()
        let connection = try ConnectionManager.unlogged.connect(configuration)
        _ = try connection.on("text") { [self] message in
            guard let text = message.payload[0]?.string,
                let batch = try? Payload(checking: Array(text.utf8)[...])[0]
            else { return }
            let model = self.model.withLock { model in
                model.take(batch, at: .now)
                return model
            }
            if model.heard != nil, !model.services.isEmpty { self.first.fulfill(model) }
            self.change.yield()
        }
        try await connection.connected(within: .seconds(3))
        return connection
    }

    /// The model once it has a batch; nil when none comes in time.
    func firstModel(within limit: Duration) async -> TopModel? {
        let scheduler = SystemScheduler.shared
        return await self.first.value(until: scheduler.now + limit, by: scheduler, or: nil)
    }
}
