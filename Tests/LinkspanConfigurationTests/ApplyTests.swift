internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanInMemory
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import Testing

@Suite("Changes of a running plan", .timeLimit(.minutes(2)))
struct ApplyTests {
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a hot option is taken over, and nothing is interrupted`() async throws {
        let stage = Stage()
        try await stage.run { messaging, plan in
            let channel = try await messaging.connect()
            let next = try stage.load(["LINKSPAN_SERVICES_ROOMS_MOOD": "wild"])
            try await messaging.apply(plan.difference(to: next))
            #expect(stage.journal == ["change rooms 1 wild"])
            #expect(channel.state == .connected)
            #expect(stage.connects(to: "first") == 1)
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a running service gets all its options as their type when a hot one changes, and restarts for others`()
        async throws
    {
        let stage = Stage()
        let enabled = ["LINKSPAN_SERVICES_ENABLED": "typed", "LINKSPAN_SERVICES_TYPED_ROOMS": "attic"]
        let plan = try stage.load(enabled)
        let messaging = try await Messaging.start(plan.plan)
        let next = try stage.load(enabled.merging(["LINKSPAN_SERVICES_TYPED_RATE": "0.5"]) { $1 })
        try await messaging.apply(plan.difference(to: next))
        #expect(stage.journal == [#"change typed 0.5 ["attic"]"#])
        let other = try stage.load(["LINKSPAN_SERVICES_ENABLED": "typed", "LINKSPAN_SERVICES_TYPED_RATE": "0.5"])
        #expect(next.difference(to: other).description == "~ typed.rooms [attic] -> lobby (restart)")
        await messaging.stop()
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `options of the connection hold at once, over the same link`() async throws {
        let stage = Stage()
        try await stage.run { messaging, plan in
            let channel = try await messaging.connect()
            let next = try stage.load(["LINKSPAN_CONNECTION_BUFFER_COMMANDS": "1"])
            try await messaging.apply(plan.difference(to: next))
            #expect(stage.connects(to: "first") == 1)
            stage.hubs["first"]?.cut()
            try channel.send("say", 1)
            let error = #expect(throws: LinkspanError.self) { try channel.send("say", 2) }
            #expect(error?.code == .bufferFull)
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a reload keeps the plan's credential source, and reconnects nothing; another source takes a new link`()
        async throws
    {
        let stage = Stage()
        var plan = try stage.load()
        plan.plan.credentials = .provider { _ in try Credentials(auth: "ann") }
        let messaging = try await Messaging.start(plan.plan)
        let channel = try await messaging.connect()
        _ = try await channel.request("say", 1)
        let next = try stage.load(["LINKSPAN_CONNECTION_BUFFER_COMMANDS": "7"])
        try await messaging.apply(plan.difference(to: next))
        let again = try await messaging.connect()
        _ = try await again.request("say", 2)
        #expect(stage.connects(to: "first") == 1)
        #expect(messaging.manager.statistics.count == 1)
        var other = next
        other.plan.credentials = .provider { _ in try Credentials(auth: "bob") }
        try await messaging.apply(next.difference(to: other))
        _ = try await channel.request("say", 3)
        #expect(stage.connects(to: "first") == 2)
        #expect(messaging.manager.statistics.count == 1)
        await messaging.stop()
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `another transport gets all that waited for the former one, in order`() async throws {
        let stage = Stage()
        try await stage.run { messaging, plan in
            let channel = try await messaging.connect()
            try channel.send("say", 1)
            stage.hubs["first"]?.cut()
            for number in 2...100 { try channel.send("say", number) }
            let next = try stage.load(["LINKSPAN_TRANSPORT_ADAPTER": "second"])
            try await messaging.apply(plan.difference(to: next))
            #expect(await channel.drain(within: .seconds(20)).isEmpty)
            #expect(stage.heard(by: "first") == [1])
            #expect(stage.heard(by: "second") == Array(2...100))
            #expect(stage.journal.isEmpty)
            // A later holder gets the same endpoint.
            let another = try await messaging.connect()
            #expect(another.status.url == channel.status.url)
            #expect(stage.connects(to: "second") == 1)
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `an option of the transport, or another endpoint, takes a new link of the same transport`() async throws {
        let stage = Stage()
        try await stage.run { messaging, plan in
            let channel = try await messaging.connect()
            let paced = try stage.load(["LINKSPAN_TRANSPORT_FIRST_PACE": "3"])
            try await messaging.apply(plan.difference(to: paced))
            let moved = try stage.load([
                "LINKSPAN_TRANSPORT_FIRST_PACE": "3", "LINKSPAN_TRANSPORT_FIRST_URL": "first://attic",
            ])
            try await messaging.apply(paced.difference(to: moved))
            try channel.send("say", 1)
            #expect(try await messaging.connect().status.url.text.hasPrefix("first://attic"))
            #expect(await channel.drain(within: .seconds(20)).isEmpty)
            #expect(stage.heard(by: "first") == [1] && stage.connects(to: "first") == 3)
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a connection that the app has moved stays there when an option changes, and one change of the plan moves it`()
        async throws
    {
        let stage = Stage()
        try await stage.run { messaging, plan in
            let channel = try await messaging.connect()
            try messaging.move(to: try stage.load(["LINKSPAN_TRANSPORT_ADAPTER": "second"]).plan)
            let hot = try stage.load(["LINKSPAN_CONNECTION_BUFFER_COMMANDS": "7"])
            try await messaging.apply(plan.difference(to: hot))
            #expect(try await messaging.connect().status.url == channel.status.url)
            #expect(channel.status.url.text.hasPrefix("second://"))
            #expect(messaging.manager.statistics.count == 1)
            let moved = try stage.load([
                "LINKSPAN_CONNECTION_BUFFER_COMMANDS": "7", "LINKSPAN_TRANSPORT_FIRST_URL": "first://attic",
            ])
            try await messaging.apply(hot.difference(to: moved))
            #expect(channel.status.url.text.hasPrefix("first://attic"))
            #expect(messaging.manager.statistics.count == 1)
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `deliveries made while the connection moves back and forth arrive`() async throws {
        let stage = Stage()
        try await stage.run { messaging, plan in
            let channel = try await messaging.connect()
            async let deliveries: Void = {
                for number in 1...200 {
                    try await channel.deliver("say", number)
                    await Task.yield()
                }
            }()
            var running = plan
            for round in 0..<10 {
                let next = try stage.load(["LINKSPAN_TRANSPORT_ADAPTER": round.isMultiple(of: 2) ? "second" : "first"])
                try await messaging.apply(running.difference(to: next))
                running = next
            }
            try await deliveries
            #expect(Set(stage.heard(by: "first") + stage.heard(by: "second")) == Set(1...200))
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a plan that is not connected yet connects to the new place`() async throws {
        let stage = Stage()
        try await stage.run { messaging, plan in
            try await messaging.apply(plan.difference(to: try stage.load(["LINKSPAN_TRANSPORT_ADAPTER": "second"])))
            let channel = try await messaging.connect()
            try channel.send("say", 1)
            #expect(await channel.drain(within: .seconds(20)).isEmpty)
            #expect(stage.heard(by: "second") == [1])
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a service is restarted with its new options, and who needs it around it`() async throws {
        let stage = Stage()
        try await stage.run { messaging, plan in
            let channel = try await messaging.connect()
            let next = try stage.load(["LINKSPAN_SERVICES_ROOMS_SIZE": "9"])
            try await messaging.apply(plan.difference(to: next))
            #expect(
                stage.journal == [
                    "stop presence 1 calm", "stop rooms 1 calm", "start rooms 9 calm", "start presence 1 calm",
                ])
            #expect(channel.state == .connected && stage.connects(to: "first") == 1)
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `services come and go, and the way back is a change like any other`() async throws {
        let stage = Stage()
        try await stage.run { messaging, plan in
            let next = try stage.load(["LINKSPAN_SERVICES_ENABLED": "metrics,rooms"])
            try await messaging.apply(plan.difference(to: next))
            #expect(stage.journal == ["stop presence 1 calm", "start metrics 1 calm"])
            #expect(messaging.services.state(of: "services.presence") == nil)
            #expect(messaging.services.state(of: "services.metrics") == .ready)
            stage.clear()
            try await messaging.apply(next.difference(to: try stage.load()))
            #expect(stage.journal == ["stop metrics 1 calm", "start presence 1 calm"])
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a service that had failed to start is started with its new options, hot or not`() async throws {
        let stage = Stage()
        stage.fail("start presence")
        try await stage.run { messaging, plan in
            #expect(messaging.services.degraded.keys.sorted() == ["services.presence"])
            stage.fail()
            let next = try stage.load(["LINKSPAN_SERVICES_PRESENCE_MOOD": "wild"])
            try await messaging.apply(plan.difference(to: next))
            #expect(stage.journal == ["stop presence 1 calm", "start presence 1 wild"])
            #expect(messaging.services.degraded.isEmpty)
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a service that is added to a connected plan has its channel when it starts`() async throws {
        let stage = Stage()
        try await stage.run { messaging, plan in
            let channel = try await messaging.connect()
            let next = try stage.load(["LINKSPAN_SERVICES_ADD": "talker"])
            try await messaging.apply(plan.difference(to: next))
            #expect(stage.journal == ["start talker with a channel"])
            #expect(await channel.drain(within: .seconds(20)).isEmpty)
            #expect(stage.heard(by: "first") == [99])
        }
    }
}

@Suite("Changes that fail", .timeLimit(.minutes(2)))
struct RollbackTests {
    /// Every kind of change at once.
    private static let everything = [
        "LINKSPAN_TRANSPORT_ADAPTER": "second", "LINKSPAN_SERVICES_ENABLED": "rooms,metrics,history",
        "LINKSPAN_SERVICES_ROOMS_MOOD": "wild",
    ]

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a start that fails takes everything back`() async throws {
        let stage = Stage()
        try await stage.run { messaging, plan in
            let channel = try await messaging.connect()
            stage.fail("start metrics")
            let difference = plan.difference(to: try stage.load(Self.everything))
            let error = await #expect(throws: LinkspanError.self) { try await messaging.apply(difference) }
            #expect(
                error?.message == "the change of the plan failed: service 'metrics' did not start: "
                    + "unsupported: start metrics is told to fail; the former plan is still in effect")
            #expect(
                stage.journal == [
                    "stop presence 1 calm", "start history 1 calm", "start metrics 1 calm", "stop metrics 1 calm",
                    "stop history 1 calm", "start presence 1 calm",
                ])
            #expect(messaging.services.state(of: "services.presence") == .ready)
            #expect(messaging.services.state(of: "services.metrics") == nil)
            #expect(channel.status.url.text.hasPrefix("first://") && stage.connects(to: "second") == 0)
            // What was taken back can be tried again.
            stage.fail()
            try await messaging.apply(plan.difference(to: try stage.load(Self.everything)))
            #expect(messaging.services.state(of: "services.metrics") == .ready)
            #expect(channel.status.url.text.hasPrefix("second://"))
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a hot change that fails is taken back, and the services too`() async throws {
        let stage = Stage()
        try await stage.run { messaging, plan in
            let next = try stage.load([
                "LINKSPAN_SERVICES_ENABLED": "rooms,presence,metrics", "LINKSPAN_SERVICES_ROOMS_MOOD": "wild",
                "LINKSPAN_SERVICES_PRESENCE_MOOD": "wild",
            ])
            stage.fail("change presence")
            let error = await #expect(throws: LinkspanError.self) {
                try await messaging.apply(plan.difference(to: next))
            }
            #expect(error?.message.contains("service 'presence' rejected its new options") == true)
            // Also the way back fails for the one that fails whatever it is told.
            #expect(error?.message.contains("restoring the former plan failed") == true)
            #expect(
                stage.journal == [
                    "start metrics 1 calm", "change rooms 1 wild", "change presence 1 wild", "change presence 1 calm",
                    "change rooms 1 calm", "stop metrics 1 calm",
                ])
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a change of a fixed option is refused before anything is touched`() async throws {
        let stage = Stage()
        try await stage.run { messaging, plan in
            let channel = try await messaging.connect()
            let next = try stage.load([
                "LINKSPAN_CONNECTION_DELIVERY_KEY": "lastArgument", "LINKSPAN_SERVICES_ROOMS_SIZE": "9",
            ])
            let error = await #expect(throws: LinkspanError.self) {
                try await messaging.apply(plan.difference(to: next))
            }
            #expect(error?.code == .conflictingOptions)
            #expect(
                error?.message == "the change of the plan failed: these options cannot change while the program runs: "
                    + "connection.deliveryKey; the former plan is still in effect")
            #expect(stage.journal.isEmpty)
            #expect(channel.state == .connected)
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `services that are not restored are named`() async throws {
        let stage = Stage()
        try await stage.run { messaging, plan in
            stage.fail("start metrics", "start presence")
            let next = try stage.load(["LINKSPAN_SERVICES_ENABLED": "rooms,metrics"])
            let error = await #expect(throws: LinkspanError.self) {
                try await messaging.apply(plan.difference(to: next))
            }
            #expect(
                error?.message == "the change of the plan failed: service 'metrics' did not start: "
                    + "unsupported: start metrics is told to fail; and restoring the former plan failed: "
                    + "service 'presence' did not start: unsupported: start presence is told to fail")
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a service that had failed before may fail again when restored`() async throws {
        let stage = Stage()
        stage.fail("start presence", "start metrics")
        try await stage.run { messaging, plan in
            let next = try stage.load(["LINKSPAN_SERVICES_ENABLED": "rooms,metrics"])
            let error = await #expect(throws: LinkspanError.self) {
                try await messaging.apply(plan.difference(to: next))
            }
            #expect(error?.message.hasSuffix("; the former plan is still in effect") == true)
            #expect(messaging.services.degraded.keys.sorted() == ["services.presence"])
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a plan whose needs are missing is refused before anything is touched`() async throws {
        let stage = Stage()
        try await stage.run { messaging, plan in
            var next = plan.plan
            next.services.removeAll { $0.name == "rooms" }
            let change = PlanChange(.service("rooms"), "rooms", .stop)
            let error = await #expect(throws: LinkspanError.self) {
                try await messaging.apply(PlanDifference(to: next, [change]))
            }
            #expect(error?.message.contains("'rooms' is not registered") == true)
            #expect(stage.journal.isEmpty)
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `one change is made at a time`() async throws {
        let stage = Stage()
        let (starts, started) = AsyncStream<Void>.makeStream()
        let (gate, opened) = AsyncStream<Void>.makeStream()
        try await stage.run { messaging, plan in
            let slow = PlannedService(SlowService(started: started, gate: gate))
            var next = MessagingPlan(url: plan.plan.url, transport: plan.plan.transport)
            next.services = plan.plan.services + [slow]
            let first = PlanDifference(to: next, [PlanChange(.service("slow"), "slow", .start)])
            let second = plan.difference(to: try stage.load(["LINKSPAN_SERVICES_ROOMS_MOOD": "wild"]))
            async let change: Void = messaging.apply(first)
            for await _ in starts { break }
            let error = await #expect(throws: LinkspanError.self) { try await messaging.apply(second) }
            #expect(error?.code == .wrongState)
            opened.yield()
            try await change
            #expect(messaging.services.state(of: "services.slow") == .ready)
            try await messaging.apply(second)
            #expect(stage.journal == ["change rooms 1 wild"])
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `after the stop nothing is changed any more`() async throws {
        let stage = Stage()
        try await stage.run { messaging, plan in
            await messaging.stop()
            stage.clear()
            await #expect(throws: LinkspanError.self) {
                try await messaging.apply(
                    plan.difference(to: try stage.load(["LINKSPAN_SERVICES_ENABLED": "rooms,presence,metrics"])))
            }
            #expect(stage.journal.isEmpty)
        }
    }
}

/// A service that is not ready before it is let.
private struct SlowService: LifecycleService {
    let name: ServiceName = "slow"
    let budgets = Budgets.generous
    let started: AsyncStream<Void>.Continuation
    let gate: AsyncStream<Void>

    func start(_ scope: ServiceScope) async throws {
        self.started.yield()
        for await _ in self.gate { return }
    }
}
