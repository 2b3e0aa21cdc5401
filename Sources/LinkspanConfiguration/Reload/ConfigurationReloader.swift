public import Linkspan
public import LinkspanMessaging
public import LinkspanRuntime

/// Applies changes of the configuration to a running plan: when its file changes, and on request.
///
/// Nothing is watched unless an app makes a reloader and runs it.
///
/// ```swift
/// let reloader = ConfigurationReloader(loader, sources, running: loaded, on: messaging)
/// await reloader.run { outcome in logger.notice("\(outcome)") }
/// ```
///
/// A file counts as changed once two looks in a row find the same new content, so that one that is just being written
/// is left alone; an empty one is a mistake. Whatever is wrong with the new configuration, the former one runs on.
public final class ConfigurationReloader: Sendable {
    /// The result of a change.
    public enum Outcome: Sendable {
        /// It runs; the difference is empty when it means the same as before.
        case applied(PlanDifference)
        /// It has mistakes, and nothing was changed.
        case rejected(ConfigurationError)
        /// It could not be put into effect, and was taken back.
        case failed(LinkspanError)
    }

    private struct State: Sendable {
        var running: LoadedPlan
        var watch: FileWatch
        var isRequested = false
        var timer: (any ScheduledWork)?
    }

    private let loader: ConfigurationLoader
    private let sources: ConfigurationSources
    private let messaging: Messaging
    private let interval: Duration
    private let scheduler: any Scheduler
    private let prepare: @Sendable (inout MessagingPlan) -> Void
    private let occasions: AsyncStream<Void>
    private let occasion: AsyncStream<Void>.Continuation
    // Guards the running plan and the timer: readers and `reload` contend with the task that follows the file.
    private let state: Lock<State>

    /// Makes a reloader that does nothing yet.
    ///
    /// - Parameters:
    ///   - loader: reads the configuration.
    ///   - sources: where the running plan came from, and where changes are looked for.
    ///   - running: the plan that runs.
    ///   - messaging: what runs it.
    ///   - interval: the time between two looks at the file.
    ///   - scheduler: the clock.
    ///   - prepare: changes every plan that was loaded, such as an app does in code before it starts one.
    public init(
        _ loader: ConfigurationLoader, _ sources: ConfigurationSources, running: LoadedPlan, on messaging: Messaging,
        every interval: Duration = .seconds(1), scheduler: any Scheduler = SystemScheduler.shared,
        prepare: @escaping @Sendable (inout MessagingPlan) -> Void = { _ in }
    ) {
        self.loader = loader
        self.sources = sources
        self.messaging = messaging
        self.interval = interval
        self.scheduler = scheduler
        self.prepare = prepare
        (self.occasions, self.occasion) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.state = Lock(State(running: running, watch: FileWatch(known: running.content)))
    }

    /// The plan that runs.
    public var running: LoadedPlan { self.state.withLock { $0.running } }

    /// Asks for a look at all sources now, which ends in an outcome whether or not anything has changed.
    ///
    /// For a signal such as SIGHUP, or a button. The file is taken as it is.
    public func reload() {
        self.state.withLock { $0.isRequested = true }
        self.occasion.yield()
    }

    /// Follows the configuration until the task is cancelled; once.
    ///
    /// - Parameter tell: gets every outcome, one after the other.
    public func run(_ tell: (Outcome) async -> Void) async {
        self.lookLater()
        for await _ in self.occasions {
            let isRequested = self.state.withLock { state in
                defer { state.isRequested = false }
                return state.isRequested
            }
            if let outcome = await self.look(isRequested) { await tell(outcome) }
            self.lookLater()
        }
        self.state.withLock { $0.timer }?.cancel()
    }

    private func lookLater() {
        guard self.sources.file != nil else { return }
        let timer = self.scheduler.schedule(at: self.scheduler.now + self.interval) { [occasion] in occasion.yield() }
        let former = self.state.withLock { state in
            defer { state.timer = timer }
            return state.timer
        }
        former?.cancel()
    }
}

// MARK: - Looking

extension ConfigurationReloader {
    private func look(_ isRequested: Bool) async -> Outcome? {
        let look = self.sources.file.map { FileLook.at($0) }
        let isChanged = self.state.withLock { state in
            guard let look else { return isRequested }
            guard isRequested else { return state.watch.see(look) }
            state.watch.accept(look.content)
            return true
        }
        guard isChanged else { return nil }
        return await self.follow(look?.content)
    }

    private func follow(_ content: FileLook.Content?) async -> Outcome {
        let former = self.running
        do throws(ConfigurationError) {
            var next = try self.load(content, former)
            self.prepare(&next.plan)
            let difference = former.difference(to: next)
            return await self.apply(difference, next)
        } catch {
            return .rejected(error)
        }
    }

    private func load(
        _ content: FileLook.Content?, _ former: LoadedPlan
    ) throws(ConfigurationError) -> LoadedPlan {
        // Nobody empties a configuration to change it; what is empty is about to be written.
        if let file = self.sources.file, case .text(let text) = content, text.isEmpty, content != former.content {
            let problem = ConfigurationProblem(
                .unreadableFile, Wording.shown(file, limit: 300), "is empty, so what runs was left as it is")
            throw ConfigurationError(problems: [problem])
        }
        return try self.loader.load(self.sources, content)
    }

    private func apply(_ difference: PlanDifference, _ next: LoadedPlan) async -> Outcome {
        do throws(LinkspanError) {
            if !difference.isEmpty { try await self.messaging.apply(difference) }
            self.state.withLock { $0.running = next }
            return .applied(difference)
        } catch {
            return .failed(error)
        }
    }
}

extension ConfigurationReloader.Outcome: CustomStringConvertible {
    /// The outcome for a person.
    public var description: String {
        switch self {
        case .applied(let difference) where difference.isEmpty: "configuration read: nothing changes"
        case .applied(let difference): "configuration changed:\n\(difference)"
        case .rejected(let error):
            "configuration not changed, what runs goes on:" + error.problems.map { "\n \($0)" }.joined()
        case .failed(let error): "configuration not changed: \(error.message)"
        }
    }
}
