import Linkspan
import LinkspanConfiguration
import LinkspanLifecycle
import LinkspanMessaging

/// What a visit is made of: the running SDK, the connection, and the features that configuration switched on.
@available(macOS 15, *)
struct Visit: Sendable {
    let visitor: Visitor
    let news: ChatNews
    let messaging: Messaging
    let connection: ConnectionHandler
    private let first: RoomsService
    /// What configuration says about everything.
    let plan: LoadedPlan

    /// The feature that says lines: the one that runs now, for configuration may have put another in its place.
    var rooms: RoomsService { self.messaging.services.services(of: RoomsService.self).first ?? self.first }

    /// The name of what carries the traffic.
    var transport: String { self.plan.adapter }

    /// Starts the plan's services and begins to connect.
    ///
    /// - Throws: ``LinkspanError`` when a service cannot start or `rooms` is not among them.
    static func begin(_ visitor: Visitor, _ news: ChatNews, _ plan: LoadedPlan) async throws(LinkspanError) -> Visit {
        let messaging = try await Messaging.start(plan.plan)
        guard let rooms = messaging.services.services(of: RoomsService.self).first else {
            throw LinkspanError(
                .invalidConfiguration, "the chat needs the service 'rooms': name it in linkspan.services.enabled")
        }
        return Visit(
            visitor: visitor, news: news, messaging: messaging, connection: try messaging.connect(), first: rooms,
            plan: plan)
    }
}
