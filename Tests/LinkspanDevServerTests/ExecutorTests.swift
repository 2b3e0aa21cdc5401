internal import Foundation
internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestedBackEnds
internal import Testing

/// A connection calls back on its transport's executor and never inside a caller's call, on every wire and in memory.
@Suite(.timeLimit(.minutes(2)), .overSomeBackEnd)
struct ExecutorTests {
    typealias Place = IdentityTests.Place

    /// A lock that an app holds while it sends, and that its listeners take as well.
    private final class App: Sendable {
        let lock = NSRecursiveLock()
        let isOn: @Sendable () -> Bool
        let recorder = EventRecorder()

        init(_ executor: any JobExecutor) { self.isOn = { executor.isCurrent } }

        /// Notes a callback: its place, and whether it came on the executor.
        func called(_ name: String) {
            self.lock.withLock { self.recorder.note(self.isOn() ? name : "\(name) elsewhere") }
        }

        /// Makes a call as an app may: with its lock held, on its own thread.
        func call(_ body: () throws -> Void) rethrows {
            try self.lock.withLock {
                let before = self.recorder.notes.count
                try body()
                if self.recorder.notes.count > before, !self.isOn() {
                    // Another thread cannot have come past the lock.
                    self.recorder.note("a callback inside a call")
                }
            }
        }
    }

    private static func run(
        _ place: Place, _ body: (App, ConnectionConfiguration, ConnectionManager) async throws -> Void
    ) async throws {
        try await Bench.run { bench in
            let (url, transport) = place.transport(bench)
            let manager = ConnectionManager()
            let configuration = try ConnectionBuilder(url).transport(transport).build()
            do {
                try await body(App(transport.executor), configuration, manager)
            } catch {
                await manager.shutdown()
                throw error
            }
            await manager.shutdown()
        }
    }

    @Test(arguments: Place.allCases)
    func `callbacks come on the executor and outside calls, also under a lock of the app`(_ place: Place) async throws {
        try await Self.run(place) { app, configuration, manager in
            let handler = try manager.connect(configuration)
            let states = handler.onStateChange { _ in app.called("state") }
            try handler.on("echo") { _ in app.called("listener") }
            for await change in handler.stateChanges where change.to == .connected { break }
            for number in 0..<50 {
                try app.call {
                    try handler.send("echo", number)
                    let command = Command(.request, event: "req", payload: try Payload(number)) { _ in
                        app.called("outcome")
                    }
                    try handler.perform(command)
                    try handler.perform(
                        Command(.send, event: "echo", payload: try Payload(number)) { _ in app.called("outcome") })
                }
            }
            try await app.recorder.wait(for: "all callbacks") { entries in entries.count >= 50 * 4 + 1 }
            try app.call { try handler.disconnect() }
            #expect(handler.state == .disconnected, "the snapshot shows the intended state at once")
            try await app.recorder.wait(for: "the last state") { entries in entries.count >= 50 * 4 + 2 }
            #expect(Set(app.recorder.notes) == ["state", "listener", "outcome"])
            states.cancel()
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(arguments: Place.allCases)
    func `a task on the executor awaits replies on the loop's thread, and goes on when the loop stops`(_ place: Place)
        async throws
    {
        try await Bench.run { bench in
            let (url, transport) = place.transport(bench)
            let (manager, executor) = (ConnectionManager(), transport.executor)
            let handler = try ConnectionBuilder(url).transport(transport).connect(by: manager)
            let threads = try await Task(executorPreference: handler.executor) {
                var threads: Set<ObjectIdentifier> = []
                for number in 0..<50 {
                    _ = try await handler.request("req", number, timeout: .seconds(30))
                    #expect(executor.isCurrent)
                    threads.insert(Self.thread())
                }
                return threads.count
            }.value
            // A hub has a queue, which may change its thread.
            if case .way = place { #expect(threads == 1) }
            let isWaiting = Promise<Void>()
            let last = Task(executorPreference: handler.executor) {
                isWaiting.fulfill()
                _ = try? await handler.request("silence", timeout: .seconds(600))
                return executor.isCurrent
            }
            await isWaiting.value
            bench.loop.shutdown()
            await manager.shutdown()
            #expect(await last.value)
            #expect(await Task(executorPreference: handler.executor) { executor.isCurrent }.value)
        }
    }

    /// Identifies the calling thread.
    private static func thread() -> ObjectIdentifier { ObjectIdentifier(Thread.current) }

    @Test(arguments: Place.allCases)
    func `the end is told on the executor, outside the call that gives the connection back`(_ place: Place) async throws
    {
        try await Self.run(place) { app, configuration, manager in
            let handler = try manager.connect(configuration)
            handler.onEnd { app.called("end") }
            app.call { handler.release() }
            try await app.recorder.wait(for: "the end") { !$0.isEmpty }
            #expect(app.recorder.notes == ["end"])
        }
    }

    @Test(arguments: Place.allCases)
    func `a listener may send, request, subscribe and disconnect; its calls take effect afterwards`(_ place: Place)
        async throws
    {
        try await Self.run(place) { app, configuration, manager in
            let handler = try manager.connect(configuration)
            let isInside = Lock(false)
            for await change in handler.stateChanges where change.to == .connected { break }
            try handler.on("echo") { message in
                let wasInside = isInside.withLock { inside in
                    defer { inside = true }
                    return inside
                }
                app.called(wasInside ? "nested" : "listener")
                defer { isInside.withLock { $0 = false } }
                guard let number = message.payload[0]?.int, number < 20 else {
                    _ = try? handler.disconnect()
                    return
                }
                try? handler.send("echo", number + 1)
                try? handler.perform(
                    Command(.send, event: "nothing", payload: .empty) { _ in
                        app.called(isInside.withLock { $0 } ? "nested" : "outcome")
                    })
            }
            try handler.send("echo", 0)
            for await change in handler.stateChanges where change.to == .disconnected { break }
            #expect(app.recorder.notes.count { $0 == "listener" } == 21)
            #expect(!app.recorder.notes.contains { $0.contains("nested") || $0.contains("elsewhere") })
        }
    }

    /// An object that says goodbye when it goes away.
    private final class Goodbye: Sendable {
        private let handler: ConnectionHandler

        init(_ handler: ConnectionHandler) { self.handler = handler }

        deinit {
            try? self.handler.send("echo", "goodbye")
            self.handler.release()
        }
    }

    @Test(arguments: Place.allCases)
    func `an object may send and release in its deinit, wherever that runs`(_ place: Place) async throws {
        try await Self.run(place) { app, configuration, manager in
            let other = try manager.connect(configuration)
            try other.on("echo") { _ in app.called("listener") }
            _ = try await other.request("req")
            do {
                // The last reference goes away on this thread.
                _ = Goodbye(try manager.connect(configuration))
            }
            let held = Lock<Goodbye?>(Goodbye(try manager.connect(configuration)))
            // And here on the executor, inside a listener.
            try other.perform(Command(.request, event: "req", payload: .empty) { _ in held.withLock { $0 = nil } })
            try await app.recorder.wait(for: "two goodbyes") { $0.count == 2 }
            #expect(app.recorder.notes == ["listener", "listener"])
        }
    }
}
