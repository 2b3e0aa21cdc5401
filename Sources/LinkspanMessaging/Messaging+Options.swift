public import Linkspan
public import LinkspanLifecycle
public import LinkspanRuntime

extension Messaging {
    /// How the connection manager and the service registry of a plan work.
    ///
    /// What is different for each connection is in ``MessagingPlan/options``.
    public struct Options: Sendable {
        /// The clock of the connections.
        public var scheduler: any Scheduler
        /// Random numbers from 0 up to 1, for jitter.
        public var random: @Sendable () -> Double = { .random(in: 0..<1) }
        /// How many attempts to connect may be made, however many connections there are.
        public var attempts = AttemptLimits()
        /// The keeper's chain.
        public var keeperRules: [any KeeperRule] = ConnectionManager.standardRules
        /// How often the keeper looks at the pool.
        public var keeperPeriod: Duration = .seconds(5)
        /// How long connections stay up in the background.
        public var backgroundIdleTimeout: Duration = .seconds(30)
        /// Makes the connections; nil for the SDK's own.
        public var factory: (any ConnectionFactory)?
        /// How the registry works, its clock and limits included.
        public var registry: ServiceRegistry.Options

        /// Makes the default options, changed by `configure`.
        ///
        /// - Parameters:
        ///   - scheduler: the clock of the connections and of the registry.
        ///   - configure: changes the options.
        public init(
            scheduler: any Scheduler = SystemScheduler.shared, _ configure: (inout Options) -> Void = { _ in }
        ) {
            self.scheduler = scheduler
            self.registry = ServiceRegistry.Options { $0.scheduler = scheduler }
            configure(&self)
        }
    }
}
