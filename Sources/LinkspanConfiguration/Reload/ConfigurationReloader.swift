public import Linkspan
public import LinkspanMessaging
public import LinkspanRuntime

// An actor for the running plan and the timer: readers contend with the task that follows the file.
/// Applies changes of the configuration to a running plan: when its file changes, and on request.
///
/// Nothing is watched unless an app makes a reloader and runs it.
///
/// ```swift
/// let reloader = ConfigurationReloader(loader, sources, running: loaded, on: messaging)
/// await reloader.run { outcome in logger.notice("\(outcome)") }
/// ```
///
/// A file has changed once two reads in a row find the same new content, so a file that is being written is not read
/// in part; an empty file is a problem. The former configuration runs on until a new one is valid. A file
/// system that does not answer within 10 seconds counts as a file that cannot be read.
public actor ConfigurationReloader {
    /// The result of a change.
    public enum Outcome: Sendable {
        /// Applied; the difference is empty when the meaning is the same as before.
        case applied(PlanDifference)
        /// Rejected for its mistakes; nothing was changed.
        case rejected(ConfigurationError)
        /// Failed while it was applied, and rolled back.
        case failed(LinkspanError)
    }

    private enum Occasion: Sendable {
        case due
        case requested
    }

    private let loader: ConfigurationLoader
    private let sources: ConfigurationSources
    private let messaging: Messaging
    private let interval: Duration
    private let scheduler: any Scheduler
    private let prepare: @Sendable (inout MessagingPlan) -> Void
    /// Reads the file; a test has its own in place of files.
    var snapshots = RegularFile.Snapshots()
    private let occasions: AsyncStream<Occasion>
    private nonisolated let occasion: AsyncStream<Occasion>.Continuation
    /// The plan that runs.
    public private(set) var running: LoadedPlan
    private var watch: FileWatch
    private var timer: (any ScheduledWork)?

    /// Makes a reloader that does nothing yet.
    ///
    /// - Parameters:
    ///   - loader: reads the configuration.
    ///   - sources: where the running plan came from, and where changes are looked for.
    ///   - running: the plan that runs.
    ///   - messaging: the facade that runs it.
    ///   - interval: the time between two checks of the file.
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
        // At most one is due, so that two never push out the last request.
        (self.occasions, self.occasion) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(2))
        self.running = running
        self.watch = FileWatch(known: running.content)
    }

    /// Checks all sources now, which ends in an outcome whether or not anything has changed.
    ///
    /// For a signal such as SIGHUP, or a button. The file is taken as it is.
    public nonisolated func reload() { self.occasion.yield(.requested) }

    /// Follows the configuration until the task is cancelled; once.
    ///
    /// - Parameter tell: gets every outcome, one after the other.
    public nonisolated func run(_ tell: (Outcome) async -> Void) async {
        await self.lookLater()
        for await occasion in self.occasions {
            if let outcome = await self.look(occasion) { await tell(outcome) }
            await self.lookLater()
        }
        await self.timer?.cancel()
    }

    private func lookLater() {
        guard self.sources.file != nil else { return }
        self.timer?.cancel()
        self.timer = self.scheduler.schedule(at: self.scheduler.now + self.interval) { [occasion] in
            occasion.yield(.due)
        }
    }

}

// MARK: - Looking

extension ConfigurationReloader {
    private func look(_ occasion: Occasion) async -> Outcome? {
        let look = self.sources.file.map { FileLook($0, by: &self.snapshots) }
        switch occasion {
        case .requested: if let look { self.watch.accept(look.content) }
        case .due: guard let look, self.watch.see(look) else { return nil }
        }
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
        // An empty file is about to be written.
        if let file = self.sources.file, case .text(let text) = content, text.isEmpty, content != former.content {
            let problem = ConfigurationProblem(
                .unreadableFile, Wording.shown(file, limit: 300),
                "is empty, so the former configuration is still in effect")
            throw ConfigurationError(problems: [problem])
        }
        return try self.loader.load(self.sources, content)
    }

    private func apply(_ difference: PlanDifference, _ next: LoadedPlan) async -> Outcome {
        do throws(LinkspanError) {
            if !difference.isEmpty { try await self.messaging.apply(difference) }
            self.running = next
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
            "configuration not changed, the former one is still in effect:" + error.lines.map { "\n \($0)" }.joined()
        case .failed(let error): "configuration not changed: \(error.message)"
        }
    }
}
