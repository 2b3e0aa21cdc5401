public import Linkspan
public import LinkspanLifecycle
public import LinkspanMessaging
internal import LinkspanRuntime

/// A service that announces to the server whether its user is online, away or offline.
///
/// It sends one event, `presence` by default, whose argument is `{"status":"online"}`, `away` or `offline`:
///
/// - `online`: the app is in front, and the user did something within `awayAfter`;
/// - `away`: the app is in the background, or the user did nothing for `awayAfter`;
/// - `offline`: the app ends or the services stop; sent while the connection is still open.
///
/// The status is sent after every connect and reconnect and on each change, at most once over one link. The user
/// does something when the app comes to the front, when a message is sent (any but the announcements), and when the app
/// says so by ``noteActivity()``. Where no source reports the app's phases, as on Linux, the app counts as being in
/// front.
///
/// The service emits no lifecycle events.
public final class PresenceService: ConnectionUsing {
    /// The name in registries and configuration.
    public let name: ServiceName = "presence"

    /// Options of the service.
    public struct Options: Sendable, Hashable, Decodable {
        /// The time without activity after which the user is away.
        ///
        /// Default 300 s.
        public var awayAfter: Duration
        /// The name of the event that announces the status.
        ///
        /// Default `presence`.
        public var event: String

        /// Makes options; the defaults are those named at the properties.
        public init(awayAfter: Duration = .seconds(300), event: String = "presence") {
            self.awayAfter = awayAfter
            self.event = event
        }
    }

    fileprivate struct State: Sendable {
        var options: Options
        var machine: PresenceStateMachine
        var traffic = TrafficIncreases()
        var channel: (any Connection)?
        var subscription: Subscription?
        /// The number and the deadline of the current timer.
        var armed: (number: UInt64, deadline: ContinuousClock.Instant)?
        var timers: UInt64 = 0
        var timer: (any ScheduledWork)?
        /// The messages to be sent, in order, and whether they are being sent.
        var outgoing: [Outgoing] = []
        var isSending = false

        /// The timer to set, unless an earlier one is set.
        mutating func nextTimer() -> (number: UInt64, deadline: ContinuousClock.Instant)? {
            guard self.channel != nil, let deadline = self.machine.deadline else { return nil }
            if let armed, armed.deadline <= deadline { return nil }
            self.timers += 1
            self.armed = (self.timers, deadline)
            return self.armed
        }

        mutating func beginSending() -> Bool {
            guard !self.isSending else { return false }
            self.isSending = true
            return true
        }

        mutating func nextOutgoing() -> Outgoing? {
            guard self.outgoing.isEmpty else { return self.outgoing.removeFirst() }
            self.isSending = false
            return nil
        }
    }

    fileprivate struct Outgoing: Sendable {
        var status: PresenceStatus
        var event: String
        /// Called when it has left or has been given up.
        var onEnd: (@Sendable () -> Void)?
    }

    // Status, timer and queue: the connection's executor contends with the registry's threads and the app.
    private let state: Guarded<State>

    /// Makes the service.
    ///
    /// - Parameter options: the options.
    public init(options: Options = Options()) {
        self.state = Guarded(
            State(
                options: options, machine: PresenceStateMachine(awayAfter: options.awayAfter, now: .now)))
    }

    /// The options; changes take effect at once.
    public var options: Options {
        get { self.state.withLock { $0.options } }
        set {
            self.change { state, now in
                state.options = newValue
                return state.machine.change(awayAfter: newValue.awayAfter, now: now)
            }
        }
    }

    /// The status that others see: offline while the connection is down.
    public var status: PresenceStatus { self.state.withLock { $0.machine.status } }

    /// The user did something, such as typing or scrolling: is online again, and not idle before `awayAfter`.
    public func noteActivity() { self.change { $0.machine.active(now: $1) } }

    /// Announces the status over this connection.
    ///
    /// - Parameter channel: the service's own handler of the connection.
    /// - Throws: nothing.
    public func use(_ channel: any Connection) throws(LinkspanError) {
        self.state.withLock { state in
            state.channel = channel
            state.machine.arrive()
        }
        self.noteActivity()
        let subscription = channel.onStateChange { [weak self] change in
            self?.change { state, _ in
                if change.to == .connected { return state.machine.connected() }
                state.machine.disconnected()
                return nil
            }
        }
        self.state.withLock { $0.subscription = subscription }
    }

    /// Announces `offline`, and waits until the message has left.
    public func quiesce(_ scope: ServiceScope) async throws {
        // Ends when the task is cancelled, too.
        let (wait, end) = AsyncStream<Void>.makeStream()
        self.change(onEnd: { end.finish() }, { state, _ in state.machine.leave() })
        for await _ in wait {}
    }

    /// Releases the connection.
    public func stop(_ scope: ServiceScope) async throws {
        let (channel, subscription, timer) = self.state.withLock { state in
            defer { (state.channel, state.subscription, state.timer, state.armed) = (nil, nil, nil, nil) }
            return (state.channel, state.subscription, state.timer)
        }
        subscription?.cancel()
        timer?.cancel()
        // Let go of outside the lock, because that may give the connection back.
        _ = consume channel
    }
}

extension PresenceService: AppObserving {
    /// Follows whether the app is in front.
    public func on(_ event: Stamped<AppEvent>, _ scope: ServiceScope) async throws {
        self.change { state, now in
            switch event.event {
            case .didBecomeActive, .willEnterForeground: state.machine.moved(toFront: true, now: now)
            case .didEnterBackground: state.machine.moved(toFront: false, now: now)
            case .willTerminate: state.machine.leave()
            case .willResignActive: nil
            @unknown default: nil
            }
        }
    }
}

extension PresenceService: ConnectionObserving, TrafficObserving {
    /// Forgets the messages of a connection that was released.
    public func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws {
        guard case .released = event.event.kind else { return }
        self.state.withLock { $0.traffic.forget(connection: event.event.connection) }
    }

    /// Counts sent messages as activity, except the announcements.
    public func on(_ event: Stamped<TrafficEvent>, _ scope: ServiceScope) async throws {
        self.change { state, now in
            let sent = state.traffic.note(event).sent
            return sent == 0 || event.event.event == state.options.event ? nil : state.machine.active(now: now)
        }
    }
}

// MARK: - Acting

extension PresenceService {
    /// Decides under the lock, then announces and sees to the timer.
    ///
    /// - Parameters:
    ///   - onEnd: called when the announcement has left or has been given up; at once when there is none.
    ///   - body: decides the announcement.
    private func change(
        onEnd: (@Sendable () -> Void)? = nil, _ body: (inout State, ContinuousClock.Instant) -> PresenceStatus?
    ) {
        let channel = self.state.withLock { $0.channel }
        let scheduler = channel?.scheduler
        let now = scheduler?.now ?? .now
        let (isAnnounced, timer) = self.state.withLock { state in
            let status = body(&state, now)
            if let status {
                state.outgoing.append(Outgoing(status: status, event: state.options.event, onEnd: onEnd))
            }
            return (status != nil, state.nextTimer())
        }
        if !isAnnounced { onEnd?() }
        if let channel { self.send(over: channel) }
        if let scheduler, let (number, deadline) = timer { self.arm(number, deadline, scheduler) }
    }

    private func arm(_ number: UInt64, _ deadline: ContinuousClock.Instant, _ scheduler: any Scheduler) {
        let timer = scheduler.schedule(at: deadline) { [weak self] in
            self?.change { state, now in
                guard state.armed?.number == number else { return nil }
                state.armed = nil
                return state.machine.timerFired(now: now)
            }
        }
        let isKept = self.state.withLock { state in
            guard state.armed?.number == number else { return false }
            state.timer = timer
            return true
        }
        if !isKept { timer.cancel() }
    }

    /// Sends announcements, one thread at a time, so that the last one sent is the latest.
    private func send(over channel: any Connection) {
        guard self.state.withLock({ $0.beginSending() }) else { return }
        while let next = self.state.withLock({ $0.nextOutgoing() }) {
            do throws(LinkspanError) {
                let payload = try Payload(["status": next.status])
                try channel.perform(Command(.send, event: next.event, payload: payload) { _ in next.onEnd?() })
            } catch {
                self.state.withLock { $0.machine.refused(next.status) }
                next.onEnd?()
            }
        }
    }
}
