@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting

/// A manager over scripted links and virtual time.
///
/// The source of chance is fixed at 0.5 unless there is a seed.
struct PoolHarness: Sendable {
    let scheduler = VirtualScheduler()
    let transport: ScriptedTransport
    let manager: ConnectionManager

    init(
        rules: [any KeeperRule] = ConnectionManager.standardRules, attempts: AttemptLimits = AttemptLimits(),
        seed: UInt64? = nil, factory: (any ConnectionFactory)? = nil,
        script: @escaping @Sendable (Int) -> LinkScript = { _ in .perfect }
    ) {
        self.transport = ScriptedTransport(scheduler: self.scheduler, script: script)
        let generator = seed.map { Lock(SeededGenerator(seed: $0)) }
        self.manager = ConnectionManager(
            options: .init { [scheduler = self.scheduler] in
                $0.scheduler = scheduler
                $0.random = {
                    generator?.withLock { Double.random(in: 0..<1, using: &$0) } ?? 0.5
                }
                $0.rules = rules
                $0.attempts = attempts
                $0.factory = factory
            })
    }

    func configuration(
        _ url: String = "scripted://server", _ options: (inout ConnectionOptions) -> Void = { _ in }
    ) throws(LinkspanError) -> ConnectionConfiguration {
        try ConnectionBuilder(url).transport(self.transport).options(options).build()
    }

    func connect(
        _ url: String = "scripted://server", _ options: (inout ConnectionOptions) -> Void = { _ in }
    ) throws(LinkspanError) -> ConnectionHandler {
        try self.configuration(url, options).connect(by: self.manager)
    }
}

extension ConnectionConfiguration {
    /// Connects by a manager.
    func connect(by manager: ConnectionManager) throws(LinkspanError) -> ConnectionHandler { try manager.connect(self) }
}
