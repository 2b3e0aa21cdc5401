internal import LinkspanTesting
@testable import Linkspan

/// A manager over scripted links and virtual time.
struct PoolHarness: Sendable {
    let scheduler = VirtualScheduler()
    let transport: ScriptedTransport
    let manager: ConnectionManager

    init(
        rules: [any KeeperRule] = [ReconnectRule(), DisconnectRule(), ReleaseRule()],
        factory: (any ConnectionFactory)? = nil,
        script: @escaping @Sendable (Int) -> LinkScript = { _ in .perfect }
    ) {
        self.transport = ScriptedTransport(scheduler: self.scheduler, script: script)
        self.manager = ConnectionManager(scheduler: self.scheduler, random: { 0.5 }, rules: rules, factory: factory)
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
