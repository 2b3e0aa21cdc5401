#if OUTBOX
import ArgumentParser
import Linkspan
import LinkspanOutbox

/// The command `chat outbox`: lists, retries and erases the deliveries in a file of `--outbox`.
@available(macOS 15, *)
struct OutboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox", abstract: "Lists, retries and erases the lines of an outbox.",
        subcommands: [List.self, Retry.self, Erase.self])

    /// `chat outbox list FILE`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists all lines, the oldest first; works while a chat has the file open.")

        @Argument(help: "The file.") var file: String

        func run() throws {
            try OutboxCommand.complaining { () throws(OutboxError) in
                var last: UInt64 = 0
                while true {
                    let page = try Outbox.entries(at: self.file, after: last)
                    guard let end = page.last else { return }
                    for entry in page { LineOutput.show(entry.line) }
                    last = end.delivery.number
                }
            }
        }
    }

    /// `chat outbox retry FILE KEY …`.
    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Queues lines again that failed; the next chat sends them.")

        @Argument(help: "The file.") var file: String
        @Argument(help: "The keys of the lines, as listed.") var keys: [String]

        func run() async throws {
            try await OutboxCommand.change(self.file, self.keys) { outbox, key, account throws(OutboxError) in
                try await outbox.retry(key: key, account: account)
            }
        }
    }

    /// `chat outbox erase FILE KEY …`.
    struct Erase: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Erases lines, waiting or not.")

        @Argument(help: "The file.") var file: String
        @Argument(help: "The keys of the lines, as listed.") var keys: [String]

        func run() async throws {
            try await OutboxCommand.change(self.file, self.keys) { outbox, key, account throws(OutboxError) in
                try await outbox.erase(key: key, account: account)
            }
        }
    }

    /// Changes the rows of some keys, of whatever account.
    private static func change(
        _ file: String, _ keys: [String],
        _ change: (Outbox, String, String?) async throws(OutboxError) -> Bool
    ) async throws {
        var missing: [String] = []
        do throws(OutboxError) {
            let outbox = Outbox(path: file)
            for key in keys {
                let rows = try await outbox.entries(limit: .max).filter { $0.delivery.key == key }
                var isDone = false
                for row in rows {
                    if try await change(outbox, key, row.delivery.account) { isDone = true }
                }
                if !isDone { missing.append(key) }
            }
            await outbox.close()
        } catch {
            LineOutput.complain(error.message)
            throw ExitCode.failure
        }
        guard missing.isEmpty else {
            LineOutput.complain("no such line, or not in a state for this: \(missing.joined(separator: ", "))")
            throw ExitCode.failure
        }
    }

    fileprivate static func complaining(_ body: () throws(OutboxError) -> Void) throws {
        do throws(OutboxError) {
            try body()
        } catch {
            LineOutput.complain(error.message)
            throw ExitCode.failure
        }
    }
}
#endif
