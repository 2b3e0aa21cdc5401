internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanRuntime
internal import LinkspanServices
internal import Logging
internal import ServiceFixtures
internal import Testing

@Suite("Logging service")
struct LoggingServiceTests {
    /// Runs a registry with the service, emits, and stops: the stop flushes, so all lines are there.
    private func lines(
        _ service: any LifecycleService, _ recorder: Recorder, _ emit: (ServiceRegistry) -> Void
    ) async throws -> [Recorder.Line] {
        let registry = ServiceRegistry()
        try registry.register(service).keep()
        try await registry.start()
        emit(registry)
        await registry.stop()
        return recorder.lines
    }

    private func connection(_ kind: ConnectionEvent.Kind) -> ConnectionEvent {
        ConnectionEvent(connection: 7, endpoint: "ws://chat.example/lobby", kind: kind)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a connection's life is logged in fixed sentences with metadata`() async throws {
        let recorder = Recorder()
        let service = LoggingService(logger: recorder.logger(), families: [.connection])
        let lines = try await self.lines(service, recorder) { registry in
            registry.emit(self.connection(.created))
            registry.emit(self.connection(.connecting(attempt: 1)))
            registry.emit(
                self.connection(
                    .connected(attempt: 1, handshake: .milliseconds(5), resumed: false, transport: "websocket")))
            registry.emit(self.connection(.disconnected(reason: "reset", code: "connectionLost", willRetry: true)))
            registry.emit(self.connection(.reconnecting(attempt: 2, delay: .seconds(1))))
            registry.emit(self.connection(.disconnected(reason: "no", code: "credentialsRefused", willRetry: false)))
            registry.emit(self.connection(.disconnected(reason: "requested", code: nil, willRetry: false)))
            registry.emit(self.connection(.released))
        }
        #expect(
            lines.map { $0.sentence } == [
                "connection created", "connecting", "connected", "disconnected", "reconnecting", "disconnected",
                "disconnected", "connection released",
            ])
        #expect(lines.map { $0.level } == [.debug, .debug, .info, .notice, .info, .notice, .info, .info])
        #expect(lines.allSatisfy { $0.metadata["connection"] == "7" && $0.metadata["replayed"] == nil })
        #expect(lines.allSatisfy { $0.metadata["endpoint"] == "ws://chat.example/lobby" })
        let lost = try #require(lines.first { $0.sentence == "disconnected" })
        #expect(lost.metadata["reason"] == "reset")
        #expect(lost.metadata["code"] == "connectionLost")
        #expect(lost.metadata["willRetry"] == "true")
        #expect(lost.metadata["seq"].flatMap { Int($0) } != nil)
    }

    @Test(.timeLimit(.minutes(1)))
    func `text of a server is logged in one line, control characters escaped`() async throws {
        let recorder = Recorder()
        let service = LoggingService(logger: recorder.logger(), families: [.connection, .fault])
        let reason = "closed: \u{1B}[2J\n2026-01-01 info connected\u{202E}" + String(repeating: "x", count: 5_000)
        let lines = try await self.lines(service, recorder) { registry in
            registry.emit(self.connection(.disconnected(reason: reason, code: "lost\n", willRetry: true)))
            registry.emit(FaultEvent(path: "presence", code: .handlerFailed, message: reason, severity: .error))
        }
        let lost = try #require(lines.first { $0.sentence == "disconnected" }?.metadata)
        #expect(lost["reason"]?.hasPrefix("closed: \\u{1b}[2J\\u{a}2026-01-01 info connected\\u{202e}x") == true)
        #expect(lost["code"] == "lost\\u{a}")
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.metadata.values.allSatisfy { $0.count < 1_100 && !$0.contains("\n") } })
    }

    @Test(.timeLimit(.minutes(1)))
    func `a service that starts later is told what had happened, and its lines say so`() async throws {
        let recorder = Recorder()
        let registry = ServiceRegistry()
        try await registry.start()
        await registry.barrier(self.connection(.connecting(attempt: 1)))
        try registry.register(LoggingService(logger: recorder.logger(), families: [.connection])).keep()
        await registry.stop()
        #expect(recorder.lines.map { $0.metadata["replayed"] } == ["true"])
    }

    @Test(.timeLimit(.minutes(1)))
    func `lines below the level are not written`() async throws {
        let recorder = Recorder()
        let service = LoggingService(logger: recorder.logger(), level: .info, families: [.connection])
        let lines = try await self.lines(service, recorder) { registry in
            registry.emit(self.connection(.created))
            registry.emit(self.connection(.released))
        }
        #expect(lines.map { $0.sentence } == ["connection released"])
    }

    @Test(.timeLimit(.minutes(1)))
    func `only the wanted families are written`() async throws {
        let recorder = Recorder()
        let service = LoggingService(logger: recorder.logger(), families: [.fault, .buffer])
        let lines = try await self.lines(service, recorder) { registry in
            registry.emit(self.connection(.created))
            registry.emit(
                FaultEvent(path: "presence", code: .handlerFailed, message: "gone", severity: .error, hint: "wait"))
            registry.emit(self.connection(.queueNearlyFull(depth: 9, limit: 10)))
        }
        #expect(lines.map { $0.sentence } == ["fault", "queue nearly full"])
        #expect(lines.map { $0.level } == [.error, .notice])
        #expect(lines.first?.metadata["hint"] == "wait")
        #expect(lines.last?.metadata["depth"] == "9")
    }

    @Test(.timeLimit(.minutes(1)))
    func `level and families can be changed while it runs, all or nothing`() async throws {
        let recorder = Recorder()
        let service = LoggingService(logger: recorder.logger(), level: .info, families: [.connection])
        let registry = ServiceRegistry()
        try registry.register(service).keep()
        try await registry.start()
        await registry.barrier(self.connection(.created))
        try await service.reconfigure(OptionValues(["level": "debug", "families": ["connection"]]))
        await registry.barrier(self.connection(.created))
        await #expect(throws: LinkspanError.self) {
            try await service.reconfigure(OptionValues(["level": "error", "families": ["weather"]]))
        }
        await registry.barrier(self.connection(.released))
        try await service.reconfigure(OptionValues())
        #expect(await service.families == LoggingService.Family.standard)
        await registry.stop()
        #expect(recorder.lines.map { $0.sentence }.prefix(2) == ["connection created", "connection released"])
    }

    @Test(.timeLimit(.minutes(1)))
    func `the registry's start and stop are written`() async throws {
        let recorder = Recorder()
        let service = LoggingService(logger: recorder.logger(level: .info))
        let lines = try await self.lines(service, recorder) { _ in }
        #expect(lines.contains { $0.sentence == "services started" && $0.metadata["after"] != nil })
        #expect(lines.contains { $0.sentence == "services stopping" })
    }

    @Test(.timeLimit(.minutes(1)))
    func `events of credentials are logged with their connection`() async throws {
        let recorder = Recorder()
        let service = LoggingService(logger: recorder.logger(), families: [.authentication])
        let lines = try await self.lines(service, recorder) { registry in
            registry.emit(self.connection(.credentialsObtained(validFor: .seconds(60))))
            registry.emit(ConnectionEvent(connection: 0, endpoint: "", kind: .credentialsRevoked))
        }
        #expect(lines.map { $0.sentence } == ["credentials obtained", "credentials revoked"])
        #expect(lines.map { $0.metadata["connection"] } == ["7", nil])
        #expect(lines.first?.metadata["validFor"] == "60.0 seconds")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(.timeLimit(.minutes(1)))
    func `configuration alone switches it on, sets its level and chooses its families`() async throws {
        let recorder = Recorder()
        var catalog = Catalog()
        catalog.add(TransportFactory("none", schemes: ["none"]) { _ in NoTransport() })
        catalog.add(.logging(logger: recorder.logger()))
        let given = ["LINKSPAN_TRANSPORT_ADAPTER": "none", "LINKSPAN_TRANSPORT_URL": "none://a"]
        let loader = ConfigurationLoader(catalog: catalog)
        #expect(try loader.load(environment: given).plan.services.isEmpty)

        let on = given.merging(
            [
                "LINKSPAN_SERVICES_ENABLED": "logging", "LINKSPAN_SERVICES_LOGGING_LEVEL": "debug",
                "LINKSPAN_SERVICES_LOGGING_FAMILIES": "connection",
            ]) { $1 }
        let service = try #require(try loader.load(environment: on).plan.services.first?.service)
        let lines = try await self.lines(service, recorder) { registry in
            registry.emit(self.connection(.queueNearlyFull(depth: 9, limit: 10)))
            registry.emit(self.connection(.created))
        }
        #expect(lines.map { $0.sentence } == ["connection created"])
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `an unknown family is a problem of the configuration`() throws {
        var catalog = Catalog()
        catalog.add(TransportFactory("none", schemes: ["none"]) { _ in NoTransport() })
        catalog.add(.logging())
        let error = #expect(throws: ConfigurationError.self) {
            try ConfigurationLoader(catalog: catalog).load(environment: [
                "LINKSPAN_TRANSPORT_ADAPTER": "none", "LINKSPAN_TRANSPORT_URL": "none://a",
                "LINKSPAN_SERVICES_ENABLED": "logging", "LINKSPAN_SERVICES_LOGGING_FAMILIES": "connections",
                "LINKSPAN_SERVICES_LOGGING_LEVEL": "info",
            ])
        }
        #expect(
            error?.description
                == "1 problem in configuration, nothing was started: linkspan.services.logging  unknown family "
                + "'connections' in 'families' (known: connection, fault, registry, authentication, buffer)  "
                + "from LINKSPAN_SERVICES_LOGGING_FAMILIES")
    }
}

/// Keeps what is logged.
struct Recorder: Sendable {
    /// A line as it reached the handler.
    struct Line: Sendable, Equatable {
        var level: Logger.Level
        var sentence: String
        var metadata: [String: String]
    }

    private let kept = Lock<[Line]>([])

    var lines: [Line] { self.kept.withLock { $0 } }

    /// A logger that writes everything here.
    func logger(level: Logger.Level = .trace) -> Logger {
        var logger = Logger(label: "test") { _ in Handler(recorder: self) }
        logger.logLevel = level
        return logger
    }

    fileprivate func keep(_ line: Line) { self.kept.withLock { $0.append(line) } }
}

private struct Handler: LogHandler {
    let recorder: Recorder
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        self.recorder.keep(
            Recorder.Line(
                level: event.level, sentence: "\(event.message)",
                metadata: (event.metadata ?? [:]).mapValues { "\($0)" }))
    }
}
