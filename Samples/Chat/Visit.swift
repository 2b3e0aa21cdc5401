import Linkspan
import LinkspanConfiguration
import LinkspanLifecycle
import LinkspanMessaging
import LinkspanOutbox
import Logging
import Synchronization

/// What a visit is made of: the running SDK, the connection, and the features that configuration switched on.
@available(macOS 15, *)
struct Visit: Sendable {
    let visitor: Visitor
    let news: ChatNews
    let messaging: Messaging
    let connection: ConnectionHandler
    private let first: RoomsService
    /// The texts of the lines that an earlier visit has left, by key: an outcome comes without one.
    private let left: [String: String]
    private let effect: PlanInEffect
    /// What is in effect: what configuration says about everything, and where the visitor has moved since.
    var plan: LoadedPlan { self.effect.state.plan }
    /// The server, when the present transport or one before it had one.
    var server: String? { self.effect.state.server }

    /// The feature that says lines: the one that runs now, for configuration may have put another in its place.
    var rooms: RoomsService { self.messaging.services.services(of: RoomsService.self).first ?? self.first }

    /// What the visitor prefers at a terminal.
    var interface: InterfaceSettings {
        self.messaging.services.services(of: InterfaceService.self).first?.settings ?? InterfaceSettings()
    }

    /// The name of what carries the traffic.
    var transport: String { self.plan.adapter }

    /// Whether lines that wait survive this process.
    var isKept: Bool { self.plan.plan.options.store != nil }

    #if OUTBOX
    /// Where lines wait that survive this process.
    var outbox: Outbox? { self.plan.plan.options.store as? Outbox }
    #endif

    /// Waits until every line is confirmed or has failed, those of earlier visits included, or the time is up.
    ///
    /// - Returns: how many are still open.
    func drain(within limit: Duration) async -> Int {
        #if OUTBOX
        let end = ContinuousClock.now + limit
        #endif
        let direct = self.messaging.services.services(of: DirectMessageService.self).first
        async let directOpen = direct?.lines.drain(within: limit) ?? 0
        let open = await self.rooms.lines.drain(within: limit) + directOpen
        #if OUTBOX
        guard let outbox = self.outbox else { return open }
        // What an earlier visit left is nobody's line here, so the file has to be asked.
        while let figures = try? await outbox.figures(account: self.visitor.account), !figures.isEmpty {
            guard ContinuousClock.now < end, (try? await Task.sleep(for: .milliseconds(50))) != nil else {
                return figures.waiting
            }
        }
        return 0
        #else
        return open
        #endif
    }

    /// Confirms outcomes, and reports those of earlier visits, until the task is cancelled.
    func confirmOutcomes() async {
        #if OUTBOX
        guard let outbox = self.outbox else { return }
        do {
            for try await entry in outbox.outcomes(account: self.visitor.account) {
                let key = entry.delivery.key
                if !key.hasPrefix("\(self.visitor.session)-"), let outcome = entry.delivery.outcome {
                    self.news.post(
                        .late(text: self.left[key] ?? key, refusal: ChatVocabulary.Answer.refusal(in: outcome)))
                }
                try await outbox.confirm(entry)
            }
        } catch {
            self.news.post(.refused("the outbox cannot be read: \(error)"))
        }
        #endif
    }

    /// Moves the connection to where another plan leads.
    func move(to plan: LoadedPlan) throws(LinkspanError) {
        let former = self.effect.state
        // Before the move, so that the news of it name the new transport.
        self.effect.adopt(plan)
        do throws(LinkspanError) {
            try self.messaging.move(to: plan.plan)
        } catch {
            self.effect.state = former
            throw error
        }
    }

    /// A changed configuration was applied.
    func adopt(_ plan: LoadedPlan) {
        self.effect.adopt(plan)
        self.news.post(.adopted)
    }

    /// Starts the plan's services and begins to connect.
    ///
    /// - Throws: ``LinkspanError`` when a service cannot start or `rooms` is not among them.
    static func begin(_ visitor: Visitor, _ news: ChatNews, _ plan: LoadedPlan) async throws(LinkspanError) -> Visit {
        visitor.know(oneServer: plan.endpoints)
        var left: [String: String] = [:]
        #if OUTBOX
        // Of a line that the server has there is the key alone.
        for entry in (try? await (plan.plan.options.store as? Outbox)?.entries()) ?? [] where !entry.text.isEmpty {
            left[entry.delivery.key] = entry.text
        }
        #endif
        // Failed attempts are shown, not logged.
        let messaging = try await Messaging.start(plan.plan, connections: .init { $0.logger.logLevel = .warning })
        guard let rooms = messaging.services.services(of: RoomsService.self).first else {
            throw LinkspanError(
                .invalidConfiguration, "the chat needs the service 'rooms': name it in linkspan.services.enabled")
        }
        // Before connecting, so that the first reply counts, too.
        let traffic = Mutex(TrafficIncreases())
        messaging.services.observe(weak: visitor, TrafficEvent.self) { _, event in
            let increase = traffic.withLock { $0.note(event) }
            if increase.acknowledged > 0 { news.post(.roundTrip(increase.roundTrips / increase.acknowledged)) }
        }.keep()
        return Visit(
            visitor: visitor, news: news, messaging: messaging, connection: try await messaging.connect(), first: rooms,
            left: left, effect: PlanInEffect(plan))
    }
}

/// The plan in effect, which both the visitor and a changed configuration replace.
@available(macOS 15, *)
private final class PlanInEffect: Sendable {
    struct State: Sendable {
        var plan: LoadedPlan
        var server: String?
    }

    private let kept: Mutex<State>

    init(_ plan: LoadedPlan) { self.kept = Mutex(State(plan: plan, server: plan.server)) }

    var state: State {
        get { self.kept.withLock { $0 } }
        set { self.kept.withLock { $0 = newValue } }
    }

    func adopt(_ plan: LoadedPlan) {
        self.kept.withLock { $0 = State(plan: plan, server: plan.server ?? $0.server) }
    }
}

extension LoadedPlan {
    /// The URL, when it leads to a server.
    fileprivate var server: String? {
        (try? ConnectionURL(self.plan.url))?.isNetwork == true ? self.plan.url : nil
    }

    /// The endpoints of the server that a configuration names, which may have one for each transport.
    fileprivate var endpoints: [ConnectionURL] {
        let named = ["socketio", "websocket"].compactMap { self.explain("transport.\($0).url")?.value }
        let urls = ([self.plan.url] + named).compactMap { try? ConnectionURL($0) }
        return urls.filter(\.isNetwork)
    }
}

extension ConnectionURL {
    fileprivate var isNetwork: Bool { ["http", "https", "ws", "wss"].contains(self.scheme) }

    /// The server, which is the same one over Socket.IO and raw WebSocket, or the chat in this process.
    var server: String { self.isNetwork ? "\(self.host):\(self.port)" : self.scheme }
}
