import ArgumentParser
import Linkspan
import LinkspanInMemory

/// The command `chat demo`.
@available(macOS 15, *)
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "A tour of the SDK in some seconds, without any server.",
        discussion: """
            Two people talk: through a hub inside this process, then to a server on this machine over Socket.IO and raw \
            WebSockets. Each time the link drops, both keep typing, it comes back, and everything arrives in order. At last \
            a chat with an outbox is killed with lines waiting, and started again. \
            Ends by itself with status 0.
            """)

    /// The whole tour is over within this time, or it has failed.
    private static let limit = Duration.seconds(40)

    @OptionGroup var network: NetworkFlag

    func run() async throws {
        let network = self.network.backEnd
        let isComplete = await withTaskGroup(of: Bool.self) { group in
            group.addTask { (try? await DemoTour(network).run()) ?? false }
            group.addTask {
                try? await Task.sleep(for: Self.limit)
                return false
            }
            let first = await group.next() ?? false
            group.cancelAll()
            return first
        }
        guard isComplete else {
            LineOutput.complain("the demo failed; please report it")
            throw ExitCode.failure
        }
    }
}
