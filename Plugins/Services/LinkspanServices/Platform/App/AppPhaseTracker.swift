internal import LinkspanLifecycle

/// The phase of an app or of one of its scenes.
public enum AppPhase: Sendable, Hashable {
    /// In front, with input.
    case active
    /// Seen, without input.
    case inactive
    /// Out of sight.
    case background
}

/// Turns phases into events: each change once, with the time that the app was out of sight.
struct AppPhaseTracker: Sendable {
    private var phase: AppPhase?
    private var left: ContinuousClock.Instant?

    /// Notes the present phase.
    ///
    /// - Parameters:
    ///   - phase: the phase, as the system tells it.
    ///   - now: the time.
    /// - Returns: the events of the change, in order; none when it is the same phase.
    mutating func moved(to phase: AppPhase, now: ContinuousClock.Instant) -> [AppEvent] {
        defer { self.phase = phase }
        switch (self.phase, phase) {
        case (.active, .active), (.inactive, .inactive), (.background, .background): return []
        case (.background, .inactive): return [self.entered(now)]
        case (.background, .active): return [self.entered(now), .didBecomeActive]
        case (_, .active): return [.didBecomeActive]
        case (.active, .inactive): return [.willResignActive]
        case (nil, .inactive): return []
        case (.active, .background):
            self.left = now
            return [.willResignActive, .didEnterBackground(grace: nil)]
        case (_, .background):
            self.left = now
            return [.didEnterBackground(grace: nil)]
        }
    }

    private func entered(_ now: ContinuousClock.Instant) -> AppEvent {
        .willEnterForeground(away: self.left.map { $0.duration(to: now) })
    }
}
