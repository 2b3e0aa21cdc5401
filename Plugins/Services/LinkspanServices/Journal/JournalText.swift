internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging

/// Describes an event in one line, without secrets and payloads.
enum JournalText {
    static func line(_ event: any LifecycleEvent) -> String { ForeignText.line(Self.text(event), limit: 1_000) }

    private static func text(_ event: any LifecycleEvent) -> String {
        switch event {
        case let event as AppEvent: "app \(Self.app(event))"
        case let event as NetworkEvent: "network \(Self.network(event))"
        case let event as ConnectionEvent where event.connection == 0: Self.connection(event.kind)
        case let event as ConnectionEvent:
            "connection \(event.connection) \(Self.connection(event.kind)) endpoint=\(event.endpoint)"
        case let event as TrafficEvent:
            "traffic '\(event.event)' \(Self.traffic(event.totals)) connection=\(event.connection)"
        case let event as PressureEvent: "pressure \(Self.pressure(event))"
        case let event as FaultEvent: "fault \(Self.fault(event))"
        case let event as RegistryEvent: "services \(Self.registry(event))"
        // Of a family that the journal does not know nothing may be told.
        default: type(of: event).familyName
        }
    }

    private static func app(_ event: AppEvent) -> String {
        switch event {
        case .didBecomeActive: "active"
        case .willResignActive: "inactive"
        case .willEnterForeground(let away): "foreground" + Self.given("away", away)
        case .didEnterBackground(let grace): "background" + Self.given("grace", grace)
        case .willTerminate(let reason, let grace): "terminates reason=\(reason)" + Self.given("grace", grace)
        @unknown default: "changed"
        }
    }

    private static func network(_ event: NetworkEvent) -> String {
        let interfaces = event.interfaces.map { "\($0)" }.joined(separator: ",")
        return "\(event.status) interfaces=\(interfaces) expensive=\(event.isExpensive) "
            + "constrained=\(event.isConstrained)"
    }

    private static func connection(_ kind: ConnectionEvent.Kind) -> String {
        switch kind {
        case .created: "created"
        case .connecting(let attempt): "connecting attempt=\(attempt)"
        case .connected(let attempt, let handshake, let isResumed, let transport):
            "connected attempt=\(attempt) handshake=\(handshake) resumed=\(isResumed) transport=\(transport)"
        case .disconnected(let reason, let code, let willRetry):
            "disconnected code=\(code ?? "none") reason='\(reason)' willRetry=\(willRetry)"
        case .reconnecting(let attempt, let delay): "reconnecting attempt=\(attempt) delay=\(delay)"
        case .measured(let roundTrip): "measured roundTrip=\(roundTrip)"
        case .released: "released"
        case .queueChanged(let depth, let limit): "queue changed depth=\(depth) limit=\(limit)"
        case .queueNearlyFull(let depth, let limit): "queue nearly full depth=\(depth) limit=\(limit)"
        case .queueHasRoom(let depth, let limit): "queue has room depth=\(depth) limit=\(limit)"
        case .queueFlushed(let count, let time): "queue flushed count=\(count) time=\(time)"
        case .credentialsObtained(let time): "credentials obtained" + Self.given("validFor", time)
        case .credentialsRefreshed(let time, let attempt):
            "credentials refreshed attempt=\(attempt)" + Self.given("validFor", time)
        case .credentialsFailed(let attempt, let reason, let delay):
            "credentials failed attempt=\(attempt) reason='\(reason)'" + Self.given("retryAfter", delay)
        case .credentialsRevoked: "credentials revoked"
        @unknown default: "changed"
        }
    }

    private static func traffic(_ totals: TrafficEvent.Totals) -> String {
        "sent=\(totals.sent) received=\(totals.received) acknowledged=\(totals.acknowledged) "
            + "timedOut=\(totals.timedOut) expired=\(totals.expired) dropped=\(totals.dropped)"
    }

    private static func pressure(_ event: PressureEvent) -> String {
        switch event {
        case .memory(let level, let available): "memory \(level)" + Self.given("available", available)
        @unknown default: "changed"
        }
    }

    private static func fault(_ event: FaultEvent) -> String {
        var line = "\(event.severity) \(event.code.rawValue) path=\(event.path)"
        // The registry's own sentences; those of other codes may quote errors of foreign code.
        let own: Set<FaultEvent.Code> = [.limitHit, .mailboxOverflow]
        if own.contains(event.code) { line += " message='\(event.message)'" }
        return line
    }

    private static func registry(_ event: RegistryEvent) -> String {
        switch event {
        case .willStart: "start"
        case .started(let time): "started after=\(time)"
        case .degraded(paths: []): "complete"
        case .degraded(let paths): "degraded missing=\(paths.joined(separator: ","))"
        case .serviceChanged(let path, let from, let to):
            "changed path=\(path) from=\(Self.state(from)) to=\(Self.state(to))"
        case .willStop(let budget): "stop budget=\(budget)"
        @unknown default: "changed"
        }
    }

    private static func state(_ state: ServiceState) -> String {
        // Without the text of a service's error.
        if case .failed = state { "failed" } else { "\(state)" }
    }

    private static func given<Value>(_ name: String, _ value: Value?) -> String {
        value.map { " \(name)=\($0)" } ?? ""
    }
}
