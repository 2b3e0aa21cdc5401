internal import Dispatch
internal import Foundation
internal import Linkspan
internal import LinkspanLifecycle
@testable internal import LinkspanMessaging
@testable internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@testable internal import LinkspanConfiguration

extension ConfigurationReloader {
    fileprivate func read(by snapshots: RegularFile.Snapshots) { self.snapshots = snapshots }
}

@Suite("Following a file", .timeLimit(.minutes(2)))
struct ReloaderTests {
    private static let good = text(mood: "calm")

    private static func text(mood: String, services: String = "[rooms]") -> String {
        """
        linkspan:
          transport: { adapter: first, first: { url: first://lobby } }
          services: { enabled: \(services), rooms: { mood: \(mood) } }
        """
    }

    /// Runs a plan from a file, with a reloader that looks whenever the scenario says, and sees these snapshots of files.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    private func follow(
        _ stage: Stage, every interval: Duration = .seconds(1), by snapshots: RegularFile.Snapshots = .init(),
        onTold: @escaping @Sendable (ConfigurationReloader, VirtualScheduler) -> Void = { _, _ in },
        prepare: @escaping @Sendable (inout MessagingPlan) -> Void = { _ in },
        _ scenario: (Follower) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("linkspan-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent("chat.yaml")
        try Data(Self.good.utf8).write(to: file)
        let sources = ConfigurationSources(file: file.path, environment: [:])
        let loader = ConfigurationLoader(catalog: stage.catalog())
        let loaded = try loader.load(sources)
        let messaging = try await Messaging.start(loaded.plan)
        stage.clear()
        let clock = VirtualScheduler()
        let reloader = ConfigurationReloader(
            loader, sources, running: loaded, on: messaging, every: interval, scheduler: clock, prepare: prepare)
        await reloader.read(by: snapshots)
        let (outcomes, told) = AsyncStream<ConfigurationReloader.Outcome>.makeStream()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await reloader.run { outcome in
                    onTold(reloader, clock)
                    told.yield(outcome)
                }
            }
            let result: Result<Void, any Error>
            do {
                result = .success(
                    try await scenario(
                        Follower(
                            file: file, messaging: messaging, reloader: reloader, clock: clock, interval: interval,
                            outcomes: outcomes)))
            } catch {
                result = .failure(error)
            }
            group.cancelAll()
            try await group.waitForAll()
            await messaging.stop()
            try result.get()
        }
        // It leaves no look behind that is still due.
        #expect(clock.pendingCount == 0)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `an edit takes effect, and only once`() async throws {
        let stage = Stage()
        try await self.follow(stage) { follower in
            try follower.write(Self.text(mood: "wild"))
            #expect(await follower.next() == "configuration changed:\n~ rooms.mood calm -> wild (hot)")
            #expect(stage.journal == ["change rooms 1 wild"])
            #expect(await follower.reloader.running.explain("services.rooms.mood")?.value == "wild")
            for _ in 0..<3 { await follower.look() }
            #expect(stage.journal.count == 1)
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a file that has not changed since it was loaded is no reason for an outcome`() async throws {
        let stage = Stage()
        try await self.follow(stage) { follower in
            for _ in 0..<3 { await follower.look() }
            try follower.write(Self.text(mood: "wild"))
            #expect(await follower.next() == "configuration changed:\n~ rooms.mood calm -> wild (hot)")
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a file that was empty from the start is no mistake`() async throws {
        let stage = Stage()
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("linkspan-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent("chat.yaml")
        try Data().write(to: file)
        let sources = ConfigurationSources(
            file: file.path,
            environment: ["LINKSPAN_TRANSPORT_ADAPTER": "first", "LINKSPAN_TRANSPORT_URL": "first://lobby"])
        let loader = ConfigurationLoader(catalog: stage.catalog())
        let loaded = try loader.load(sources)
        let messaging = try await Messaging.start(loaded.plan)
        // A plan that stays as it is asks nothing of the facade, even while another change is made.
        let change = try messaging.beginChange()
        let reloader = ConfigurationReloader(
            loader, sources, running: loaded, on: messaging, scheduler: VirtualScheduler())
        let (outcomes, told) = AsyncStream<String>.makeStream()
        let run = Task { await reloader.run { told.yield("\($0)") } }
        reloader.reload()
        #expect(await outcomes.first { _ in true } == "configuration read: nothing changes")
        run.cancel()
        await run.value
        messaging.endChange(change.running)
        await messaging.stop()
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `the app prepares each plan that is read`() async throws {
        let stage = Stage()
        try await self.follow(stage, prepare: { $0.options.idleTimeout = .seconds(77) }) { follower in
            for mood in ["wild", "mild"] {
                try follower.write(Self.text(mood: mood))
                _ = await follower.next()
                #expect(await follower.reloader.running.plan.options.idleTimeout == .seconds(77))
            }
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `an edit by renaming takes effect, and the next one in place`() async throws {
        let stage = Stage()
        try await self.follow(stage) { follower in
            try Data(Self.text(mood: "wild").utf8).write(to: follower.file, options: .atomic)
            #expect(await follower.next() == "configuration changed:\n~ rooms.mood calm -> wild (hot)")
            try follower.write(Self.text(mood: "mild"))
            #expect(await follower.next() == "configuration changed:\n~ rooms.mood wild -> mild (hot)")
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `an invalid edit keeps the running plan and is reported once; corrected, it takes effect`() async throws {
        let stage = Stage()
        try await self.follow(stage) { follower in
            try follower.write(Self.text(mood: "wild", services: "[rooms, presense]"))
            let text = try #require(await follower.next())
            #expect(text.hasPrefix("configuration not changed, the former one is still in effect:\n "))
            #expect(text.contains("unknown service 'presense' (did you mean 'presence'?"))
            for _ in 0..<3 { await follower.look() }
            #expect(stage.journal.isEmpty)
            #expect(follower.messaging.services.state(of: "services.rooms") == .ready)
            try follower.write(Self.text(mood: "wild", services: "[rooms, presence]"))
            #expect(
                await follower.next() == "configuration changed:\n+ presence\n~ rooms.mood calm -> wild (hot)")
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `an emptied file is a mistake, and not a configuration without services`() async throws {
        let stage = Stage()
        try await self.follow(stage) { follower in
            for text in ["", "# The chat.\n"] {
                try follower.write(text)
                let told = try #require(await follower.next())
                #expect(told.hasSuffix("chat.yaml  is empty, so the former configuration is still in effect"))
            }
            // Back again: nothing has to be done.
            try follower.write(Self.good)
            #expect(await follower.next() == "configuration read: nothing changes")
            #expect(stage.journal.isEmpty)
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a file that is written slowly is taken when it is whole`() async throws {
        let stage = Stage()
        try await self.follow(stage) { follower in
            let text = Self.text(mood: "wild", services: "[rooms, presence]")
            // Each part would be a configuration, or a broken one, if it were taken.
            for count in [0, 10, 60, 100, text.utf8.count - 1] {
                try follower.write(String(decoding: text.utf8.prefix(count), as: UTF8.self))
                await follower.look()
            }
            #expect(stage.journal.isEmpty)
            try follower.write(text)
            #expect(
                await follower.next() == "configuration changed:\n+ presence\n~ rooms.mood calm -> wild (hot)")
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a missing file is reported, and the running plan stays`() async throws {
        let stage = Stage()
        try await self.follow(stage) { follower in
            try FileManager.default.removeItem(at: follower.file)
            let text = try #require(await follower.next())
            #expect(text.hasSuffix("chat.yaml  cannot be read: No such file or directory"))
            #expect(follower.messaging.services.state(of: "services.rooms") == .ready)
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a file system that does not answer is reported, asked once, and does not hold up the end`() async throws {
        let stage = Stage()
        let count = Lock(0)
        let hangs = DispatchSemaphore(value: 0)
        defer { hangs.signal() }
        let snapshots = RegularFile.Snapshots(patience: .milliseconds(10)) { _, _ in
            count.withLock { $0 += 1 }
            hangs.wait()
            return RegularFile.Snapshot(identity: nil, bytes: .success([]))
        }
        try await self.follow(stage, by: snapshots) { follower in
            for _ in 0..<3 {
                follower.reloader.reload()
                let text = try #require(await follower.told())
                #expect(text.hasSuffix("cannot be read: its file system did not answer within 0.01 seconds"))
            }
            for _ in 0..<3 { await follower.look() }
            #expect(follower.messaging.services.state(of: "services.rooms") == .ready)
        }
        #expect(count.withLock { $0 } <= 1)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a request is answered at once, changed or not, and the same change is not found again`() async throws {
        let stage = Stage()
        try await self.follow(stage) { follower in
            follower.reloader.reload()
            #expect(await follower.told() == "configuration read: nothing changes")
            try follower.write(Self.text(mood: "wild"))
            follower.reloader.reload()
            #expect(await follower.told() == "configuration changed:\n~ rooms.mood calm -> wild (hot)")
            for _ in 0..<3 { await follower.look() }
            try follower.write(Self.text(mood: "mild"))
            #expect(await follower.next() == "configuration changed:\n~ rooms.mood wild -> mild (hot)")
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a look that becomes due does not push a request out`() async throws {
        let isFirst = Lock(true)
        let onTold: @Sendable (ConfigurationReloader, VirtualScheduler) -> Void = { reloader, clock in
            let isFirst = isFirst.withLock { flag in
                defer { flag = false }
                return flag
            }
            guard isFirst else { return }
            reloader.reload()
            clock.advance(by: .seconds(1))
        }
        try await self.follow(Stage(), onTold: onTold) { follower in
            follower.reloader.reload()
            for _ in 1...2 { #expect(await follower.told() == "configuration read: nothing changes") }
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a failing change is rolled back and reported, and can be repeated`() async throws {
        let stage = Stage()
        try await self.follow(stage) { follower in
            stage.fail("start metrics")
            try follower.write(Self.text(mood: "wild", services: "[rooms, metrics]"))
            let text = try #require(await follower.next())
            #expect(
                text.contains("service 'metrics' did not start") && text.hasSuffix("the former plan is still in effect")
            )
            stage.fail()
            stage.clear()
            follower.reloader.reload()
            #expect(
                await follower.told() == "configuration changed:\n+ metrics\n~ rooms.mood calm -> wild (hot)")
            #expect(stage.journal == ["start metrics 1 calm", "change rooms 1 wild"])
        }
    }
}

/// What a scenario holds of a plan that follows its file.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private struct Follower {
    let file: URL
    let messaging: Messaging
    let reloader: ConfigurationReloader
    let clock: VirtualScheduler
    let interval: Duration
    let outcomes: AsyncStream<ConfigurationReloader.Outcome>

    /// Writes in place: emptied, then filled.
    func write(_ text: String) throws { try Data(text.utf8).write(to: self.file) }

    /// Lets it look once, and waits until it has: then the next look is due.
    func look() async {
        await self.rest()
        self.clock.advance(by: self.interval)
        await self.rest()
    }

    private func rest() async { await self.clock.pending(atLeast: 1) }

    /// Lets it look twice, and returns what it tells.
    func next() async -> String? {
        await self.look()
        await self.look()
        return await self.told()
    }

    func told() async -> String? {
        for await outcome in self.outcomes { return outcome.description }
        return nil
    }
}

@Suite("Watching a file")
struct FileWatchTests {
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    private func look(_ text: String, file: UInt64 = 1, time: Int64 = 1) throws -> FileLook {
        FileLook(
            identity: .init(device: 1, number: file, size: Int64(text.utf8.count), seconds: time, nanoseconds: 0),
            content: .text(try FileText(bytes: Array(text.utf8))))
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `rewriting the same content is no change`() throws {
        var watch = FileWatch(known: try self.look("a").content)
        var changes = 0
        for time: Int64 in 1...5 {
            if watch.see(try self.look("a", file: UInt64(time), time: time)) { changes += 1 }
        }
        #expect(changes == 0)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a change counts once, when two looks in a row are alike`() throws {
        var watch = FileWatch(known: try self.look("a").content)
        let seen = try (0..<4).map { _ in try watch.see(self.look("b", time: 2)) }
        #expect(seen == [false, true, false, false])
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a file that is being written is left alone until it rests`() throws {
        var watch = FileWatch(known: try self.look("abc").content)
        // Emptied, then filled in three steps.
        let texts = ["", "x", "xy", "xyz", "xyz"]
        let seen = try texts.enumerated().map { try watch.see(self.look($1, time: Int64(2 + min($0, 3)))) }
        #expect(seen == [false, false, false, false, true])
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a text that was there before between two others is not mistaken for rest`() throws {
        var watch = FileWatch(known: try self.look("a").content)
        let seen = try [
            watch.see(self.look("b", time: 2)), watch.see(self.look("c", time: 3)),
            watch.see(self.look("b", time: 4)), watch.see(self.look("b", file: 2, time: 4)),
            watch.see(self.look("b", file: 2, time: 4)),
        ]
        #expect(seen == [false, false, false, false, true])
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a file that goes and comes back between two looks is no change; one that stays away is one`() throws {
        let gone = FileLook(identity: nil, content: .failure("gone"))
        var watch = FileWatch(known: try self.look("a").content)
        let seen = try [
            watch.see(gone), watch.see(self.look("a", file: 2)), watch.see(gone), watch.see(gone), watch.see(gone),
        ]
        #expect(seen == [false, false, false, true, false])
    }
}
