internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import Logging

/// An event in words, without secrets and payloads: a fixed sentence and facts, as logs and journals show it.
struct EventLine {
    let level: Logger.Level
    let sentence: String
    private(set) var facts: [(name: String, value: String)]

    /// Facts that are nil are left out.
    private typealias Facts = KeyValuePairs<String, (any CustomStringConvertible)?>

    private init(_ level: Logger.Level, _ sentence: String, _ facts: Facts = [:]) {
        self.level = level
        self.sentence = sentence
        self.facts = facts.compactMap { name, value in value.map { (name, "\($0)") } }
    }

    /// The sentence and the facts in one line.
    var text: String {
        let facts = self.facts.map { name, value in value.contains(" ") ? "\(name)='\(value)'" : "\(name)=\(value)" }
        return ([self.sentence] + facts).joined(separator: " ")
    }

    /// Describes an event of any family.
    ///
    /// - Parameters:
    ///   - event: the event; of an unknown family nothing is described but the name.
    ///   - quotesErrors: whether texts of errors of foreign code are facts.
    init(_ event: any LifecycleEvent, quotesErrors: Bool) {
        switch event {
        case let event as AppEvent: self.init(event)
        case let event as ConnectionEvent: self.init(event)
        case let event as FaultEvent: self.init(event, quotesErrors)
        case let event as NetworkEvent:
            self.init(
                .debug, "network \(event.status)",
                [
                    "interfaces": event.interfaces.map { "\($0)" }.joined(separator: ","),
                    "expensive": event.isExpensive, "constrained": event.isConstrained,
                ])
        case PressureEvent.memory(let level, let available):
            self.init(.debug, "memory pressure \(level)", ["available": available])
        case let event as RegistryEvent: self.init(event, quotesErrors)
        case let event as TrafficEvent:
            let totals = event.totals
            self.init(
                .debug, "traffic",
                [
                    "event": event.event, "sent": totals.sent, "received": totals.received,
                    "acknowledged": totals.acknowledged, "timedOut": totals.timedOut, "expired": totals.expired,
                    "dropped": totals.dropped, "connection": event.connection,
                ])
        default: self.init(.debug, type(of: event).familyName)
        }
    }
}

extension EventLine {
    private init(_ event: AppEvent) {
        switch event {
        case .didBecomeActive: self.init(.debug, "app active")
        case .willResignActive: self.init(.debug, "app inactive")
        case .willEnterForeground(let away): self.init(.debug, "app foreground", ["away": away])
        case .didEnterBackground(let grace): self.init(.debug, "app background", ["grace": grace])
        case .willTerminate(let reason, let grace):
            self.init(.debug, "app terminates", ["reason": reason, "grace": grace])
        @unknown default: self.init(.debug, "app changed")
        }
    }

    private init(_ event: ConnectionEvent) {
        switch event.kind {
        case .created: self.init(.debug, "connection created")
        case .connecting(let attempt): self.init(.debug, "connecting", ["attempt": attempt])
        case .connected(let attempt, let handshake, let resumed, let transport):
            self.init(
                .info, "connected",
                ["attempt": attempt, "handshake": handshake, "resumed": resumed, "transport": transport])
        case .disconnected(let reason, let code, let willRetry):
            // Without a code it was asked for. The state, and errors of calls, say whether it stays down.
            self.init(
                code == nil ? .info : .notice, "disconnected",
                ["code": code, "reason": reason, "willRetry": willRetry])
        case .reconnecting(let attempt, let delay):
            self.init(.info, "reconnecting", ["attempt": attempt, "delay": delay])
        case .measured(let roundTrip): self.init(.debug, "round trip measured", ["roundTrip": roundTrip])
        case .released: self.init(.info, "connection released")
        case .queueChanged(let depth, let limit):
            self.init(.trace, "queue changed", ["depth": depth, "limit": limit])
        case .queueNearlyFull(let depth, let limit):
            self.init(.notice, "queue nearly full", ["depth": depth, "limit": limit])
        case .queueHasRoom(let depth, let limit):
            self.init(.debug, "queue has room again", ["depth": depth, "limit": limit])
        case .queueFlushed(let count, let time):
            self.init(.debug, "queue flushed", ["count": count, "time": time])
        case .credentialsObtained(let time): self.init(.debug, "credentials obtained", ["validFor": time])
        case .credentialsRefreshed(let time, let attempt):
            self.init(.debug, "credentials refreshed", ["attempt": attempt, "validFor": time])
        case .credentialsFailed(let attempt, let reason, let delay):
            self.init(
                .warning, "credentials not refreshed", ["attempt": attempt, "reason": reason, "retryAfter": delay])
        case .credentialsRevoked: self.init(.notice, "credentials revoked")
        @unknown default: self.init(.debug, "connection changed")
        }
        guard event.connection > 0 else { return }
        self.facts += [("connection", "\(event.connection)"), ("endpoint", event.endpoint)]
    }

    private init(_ event: FaultEvent, _ quotesErrors: Bool) {
        // The registry's own sentences; those of other codes may quote errors of foreign code.
        let isQuoted = quotesErrors || [.limitHit, .mailboxOverflow].contains(event.code)
        self.init(
            event.severity == .error ? .error : .warning, "fault",
            [
                "severity": quotesErrors ? nil : "\(event.severity)", "path": event.path, "code": event.code.rawValue,
                "message": isQuoted ? event.message : nil, "hint": quotesErrors ? event.hint : nil,
            ])
    }

    private init(_ event: RegistryEvent, _ quotesErrors: Bool) {
        switch event {
        case .willStart: self.init(.debug, "services starting")
        case .started(let time): self.init(.info, "services started", ["after": time])
        case .degraded(paths: []): self.init(.info, "services complete")
        case .degraded(let paths):
            self.init(.warning, "services degraded", ["missing": paths.joined(separator: ", ")])
        case .serviceChanged(let path, let from, let to):
            let text = { (state: ServiceState) in
                if case .failed = state, !quotesErrors { "failed" } else { "\(state)" }
            }
            self.init(Self.level(of: to), "service changed", ["path": path, "from": text(from), "to": text(to)])
        case .willStop(let budget): self.init(.info, "services stopping", ["budget": budget])
        @unknown default: self.init(.debug, "services changed")
        }
    }

    private static func level(of state: ServiceState) -> Logger.Level {
        switch state {
        case .registered, .starting, .ready, .quiescing, .stopping, .stopped: .debug
        case .skipped: .notice
        case .failed, .abandoned: .warning
        }
    }
}
