internal import Foundation
internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanRuntime
internal import Testing

@testable import LinkspanServices

@Suite("Phases of an app")
struct AppPhaseTests {
    private let start = ContinuousClock.now

    private func events(_ phases: [(AppPhase, seconds: Int)]) -> [AppEvent] {
        var tracker = AppPhaseTracker()
        return phases.flatMap { tracker.moved(to: $0, now: self.start + .seconds($1)) }
    }

    @Test
    func `an app that is launched becomes active`() {
        #expect(self.events([(.inactive, 0), (.active, 1)]) == [.didBecomeActive])
    }

    @Test
    func `the same phase twice is one event`() {
        #expect(self.events([(.active, 0), (.active, 1)]) == [.didBecomeActive])
    }

    @Test
    func `an app that comes back tells how long it was away`() {
        let events = self.events([(.active, 0), (.inactive, 1), (.background, 2), (.inactive, 32), (.active, 33)])
        #expect(
            events == [
                .didBecomeActive, .willResignActive, .didEnterBackground(grace: nil),
                .willEnterForeground(away: .seconds(30)), .didBecomeActive,
            ])
    }

    @Test
    func `a phase that was left out is told all the same`() {
        let events = self.events([(.active, 0), (.background, 1), (.active, 5)])
        #expect(
            events == [
                .didBecomeActive, .willResignActive, .didEnterBackground(grace: nil),
                .willEnterForeground(away: .seconds(4)), .didBecomeActive,
            ])
    }

    @Test
    func `an app that is launched in the background does not come from anywhere`() {
        #expect(self.events([(.background, 0)]) == [.didEnterBackground(grace: nil)])
    }
}

@Suite("Calls of an app's delegate", .timeLimit(.minutes(1)))
struct AppForwarderTests {
    /// A running registry with a feature and the forwarder, and the forwarder's registration.
    private func start(_ feature: Feature, _ forwarder: AppForwarder) async throws -> (ServiceRegistry, Registration) {
        let registry = ServiceRegistry(name: "app")
        try registry.register(feature).keep()
        let registration = try registry.register(forwarder)
        _ = try await registry.start()
        return (registry, registration)
    }

    @Test
    func `a link that launches the app reaches services that start later, once`() async throws {
        let forwarder = AppForwarder()
        forwarder.open(try #require(URL(string: "chat://rooms/swift")))
        let feature = Feature("feature")
        let (registry, registration) = try await self.start(feature, forwarder)
        registration.keep()
        #expect(await feature.next() == "link chat://rooms/swift scheme")
        forwarder.registered(deviceToken: Data([0x0A, 0xFF]))
        #expect(await feature.next() == "token 0aff")
        _ = await registry.stop()
    }

    @Test
    func `of more than 256 events that wait the oldest is dropped`() async throws {
        let forwarder = AppForwarder()
        for number in 0...256 { forwarder.open(try #require(URL(string: "chat://\(number)"))) }
        let feature = Feature("feature")
        let (registry, registration) = try await self.start(feature, forwarder)
        registration.keep()
        #expect(await feature.next() == "link chat://1 scheme")
        _ = await registry.stop()
    }

    @Test
    func `a phase of a scene reaches services as an event of the app`() async throws {
        let forwarder = AppForwarder()
        let feature = Feature("feature")
        let (registry, registration) = try await self.start(feature, forwarder)
        registration.keep()
        forwarder.moved(to: .active)
        #expect(await feature.next() == "didBecomeActive")
        forwarder.moved(to: .background)
        #expect(await feature.next() == "willResignActive")
        #expect(await feature.next() == "didEnterBackground(grace: nil)")
        _ = await registry.stop()
    }

    @Test
    func `a forwarder that is restarted forwards what came meanwhile and what comes then`() async throws {
        let forwarder = AppForwarder()
        let feature = Feature("feature")
        let (registry, former) = try await self.start(feature, forwarder)
        forwarder.moved(to: .active)
        #expect(await feature.next() == "didBecomeActive")
        await former.cancelAndDrain()
        forwarder.registered(deviceToken: Data([1]))
        try registry.register(forwarder).keep()
        #expect(await feature.next() == "token 01")
        forwarder.moved(to: .background)
        #expect(await feature.next() == "willResignActive")
        _ = await registry.stop()
    }

    @Test
    func `a service that starts later gets the token`() async throws {
        let forwarder = AppForwarder()
        let early = Feature("early")
        let (registry, registration) = try await self.start(early, forwarder)
        registration.keep()
        forwarder.registered(deviceToken: Data([1]))
        #expect(await early.next() == "token 01")
        let late = Feature("late")
        try registry.register(late).keep()
        #expect(await late.next() == "token 01")
        _ = await registry.stop()
    }

    @Test(
        arguments: [
            ([], PushOutcome.noData), ([.noData, .noData], .noData), ([.failed, .noData], .failed),
            ([.noData, .newData, .failed], .newData), ([nil, .noData], .failed),
        ] as [([PushOutcome?], PushOutcome)])
    func `the outcomes of services become one`(outcomes: [PushOutcome?], expected: PushOutcome) async throws {
        let registry = ServiceRegistry(name: "app")
        for (number, outcome) in outcomes.enumerated() {
            try registry.register(Fetcher(name: ServiceName(stringLiteral: "fetcher\(number)"), outcome: outcome))
                .keep()
        }
        _ = try await registry.start()
        let notification = try PushNotification(payload: PayloadValue(json: #"{"aps":{"content-available":1}}"#))
        #expect(await registry.deliver(notification) == expected)
        _ = await registry.stop()
    }

    @Test
    func `a notification that is delivered reaches services that only observe`() async throws {
        let feature = Feature("feature")
        let registry = ServiceRegistry(name: "app")
        try registry.register(feature).keep()
        _ = try await registry.start()
        let notification = PushNotification(payload: try PayloadValue(json: "{}"))
        #expect(await registry.deliver(notification) == .noData)
        #expect(await feature.next() == "received")
        _ = await registry.stop()
    }

    @Test
    func `a fetch has the time that the system gives`() async throws {
        #expect(Fetcher(name: "fetcher", outcome: nil).budgets.handle == .seconds(25))
        let patient = PatientFetcher()
        let registry = ServiceRegistry(name: "app")
        try registry.register(patient).keep()
        _ = try await registry.start()
        let earliest = ContinuousClock.now + .seconds(25)
        let notification = PushNotification(payload: try PayloadValue(json: "{}"))
        #expect(await registry.deliver(notification) == .newData)
        let (deadline, latest) = try #require(patient.asked.withLock { $0 })
        #expect(earliest <= deadline && deadline <= latest)
        _ = await registry.stop()
    }

    @Test
    func `a notification keeps its payload`() throws {
        let info: [AnyHashable: Any] = ["aps": ["alert": "Hello", "badge": 3], "room": "swift"]
        let notification = try #require(PushNotification(id: "1", userInfo: info))
        #expect(notification.payload["room"]?.string == "swift")
        #expect(notification.payload["aps"]?["badge"]?.int == 3)
        #expect(!notification.isSilent)
    }

    @Test
    func `a notification is silent without anything to show, and when it says so`() throws {
        let cases: [([String: Any]?, Bool)] = [
            (nil, true), ([:], false), (["content-available": 1], true), (["alert": "Hello"], false),
            (["content-available": 1, "alert": "Hello"], false), (["content-available": 0], false),
        ]
        for (section, isSilent) in cases {
            let info: [AnyHashable: Any] = section.map { ["aps": $0] } ?? ["room": "swift"]
            #expect(try #require(PushNotification(userInfo: info)).isSilent == isSilent, "\(info)")
        }
    }

    @Test
    func `a dictionary that is no JSON is no notification`() {
        #expect(PushNotification(userInfo: ["when": Date()]) == nil)
    }

    @Test
    func `descriptions tell neither tokens nor links`() {
        #expect("\(PushToken([1, 2, 3]))" == "push token (3 bytes)")
        #expect("\(DeepLinkEvent(url: "chat://login?token=abc"))" == "deep link (chat:)")
    }
}

/// A service that writes down what it hears.
private struct Feature: DeepLinkObserving, PushObserving, AppObserving {
    let name: ServiceName
    private let heard: AsyncStream<String>
    private let hear: AsyncStream<String>.Continuation

    init(_ name: ServiceName) {
        self.name = name
        (self.heard, self.hear) = AsyncStream.makeStream()
    }

    func next() async -> String? {
        var iterator = self.heard.makeAsyncIterator()
        return await iterator.next()
    }

    func on(_ event: Stamped<DeepLinkEvent>, _ scope: ServiceScope) async throws {
        self.hear.yield("link \(event.event.url) \(event.event.origin)")
    }

    func on(_ event: Stamped<PushEvent>, _ scope: ServiceScope) async throws {
        switch event.event {
        case .registered(let token): self.hear.yield("token \(token.hexadecimal)")
        case .received: self.hear.yield("received")
        default: ()
        }
    }

    func on(_ event: Stamped<AppEvent>, _ scope: ServiceScope) async throws { self.hear.yield("\(event.event)") }
}

/// A service that may take a minute, and notes until when it was to answer.
private final class PatientFetcher: PushResponding {
    let name: ServiceName = "patient"
    let budgets = Budgets(handle: .seconds(60))
    /// The deadline that it was given, and the latest that is right.
    let asked = Lock<(deadline: ContinuousClock.Instant, latest: ContinuousClock.Instant)?>(nil)

    func respond(to notification: PushNotification, _ scope: ServiceScope) async throws -> PushOutcome {
        self.asked.withLock { $0 = scope.deadline.map { ($0, .now + .seconds(25)) } }
        return .newData
    }
}

/// A service that answers in the same way each time; nil is an error.
private struct Fetcher: PushResponding {
    let name: ServiceName
    let outcome: PushOutcome?

    func respond(to notification: PushNotification, _ scope: ServiceScope) async throws -> PushOutcome {
        guard let outcome = self.outcome else { throw LinkspanError(.connectionLost, "no network") }
        return outcome
    }
}
