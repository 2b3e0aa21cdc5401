internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import Logging

/// The log line for an event.
struct LogLine {
    let level: Logger.Level
    let sentence: Logger.Message
    var metadata: Logger.Metadata

    private init(_ level: Logger.Level, _ sentence: Logger.Message, _ metadata: Logger.Metadata = [:]) {
        self.level = level
        self.sentence = sentence
        self.metadata = metadata
    }
}

extension LogLine {
    init(_ event: ConnectionEvent) {
        switch event.kind {
        case .created:
            self.init(.debug, "connection created")
        case .connecting(let attempt):
            self.init(.debug, "connecting", ["attempt": "\(attempt)"])
        case .connected(let attempt, let handshake, let resumed, let transport):
            self.init(
                .info, "connected",
                [
                    "attempt": "\(attempt)", "handshake": "\(handshake)", "resumed": "\(resumed)",
                    "transport": "\(transport)",
                ])
        case .disconnected(let reason, let code, let willRetry):
            // Without a code it was asked for. The state, and errors of calls, say whether it stays down.
            self.init(
                code == nil ? .info : .notice, "disconnected",
                ["reason": "\(reason)", "willRetry": "\(willRetry)"])
            if let code { self.metadata["code"] = "\(code)" }
        case .reconnecting(let attempt, let delay):
            self.init(.info, "reconnecting", ["attempt": "\(attempt)", "delay": "\(delay)"])
        case .measured(let roundTrip):
            self.init(.debug, "round trip measured", ["roundTrip": "\(roundTrip)"])
        case .released:
            self.init(.info, "connection released")
        case .queueChanged(let depth, let limit):
            self.init(.trace, "queue changed", ["depth": "\(depth)", "limit": "\(limit)"])
        case .queueNearlyFull(let depth, let limit):
            self.init(.notice, "queue nearly full", ["depth": "\(depth)", "limit": "\(limit)"])
        case .queueHasRoom(let depth, let limit):
            self.init(.debug, "queue has room again", ["depth": "\(depth)", "limit": "\(limit)"])
        case .queueFlushed(let count, let time):
            self.init(.debug, "queue flushed", ["count": "\(count)", "time": "\(time)"])
        case .credentialsObtained(let time):
            self.init(.debug, "credentials obtained")
            if let time { self.metadata["validFor"] = "\(time)" }
        case .credentialsRefreshed(let time, let attempt):
            self.init(.debug, "credentials refreshed", ["attempt": "\(attempt)"])
            if let time { self.metadata["validFor"] = "\(time)" }
        case .credentialsFailed(let attempt, let reason, let delay):
            self.init(.warning, "credentials not refreshed", ["attempt": "\(attempt)", "reason": "\(reason)"])
            if let delay { self.metadata["retryAfter"] = "\(delay)" }
        case .credentialsRevoked:
            self.init(.notice, "credentials revoked")
        @unknown default:
            self.init(.debug, "connection changed")
        }
        guard event.connection > 0 else { return }
        self.metadata["connection"] = "\(event.connection)"
        self.metadata["endpoint"] = "\(event.endpoint)"
    }

    init(_ event: FaultEvent) {
        self.init(
            event.severity == .error ? .error : .warning, "fault",
            ["path": "\(event.path)", "code": "\(event.code.rawValue)", "message": "\(event.message)"])
        if let hint = event.hint { self.metadata["hint"] = "\(hint)" }
    }

    init(_ event: RegistryEvent) {
        switch event {
        case .willStart:
            self.init(.debug, "services starting")
        case .started(let time):
            self.init(.info, "services started", ["after": "\(time)"])
        case .degraded(paths: []):
            self.init(.info, "services complete")
        case .degraded(let paths):
            self.init(.warning, "services degraded", ["missing": "\(paths.joined(separator: ", "))"])
        case .serviceChanged(let path, let from, let to):
            self.init(
                Self.level(of: to), "service changed", ["path": "\(path)", "from": "\(from)", "to": "\(to)"])
        case .willStop(let budget):
            self.init(.info, "services stopping", ["budget": "\(budget)"])
        @unknown default:
            self.init(.debug, "services changed")
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
