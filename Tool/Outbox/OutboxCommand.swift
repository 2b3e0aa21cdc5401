#if OUTBOX
import ArgumentParser
import Linkspan
import LinkspanOutbox
import LinkspanTerminal

/// The command `linkspan outbox`: lists, retries and erases the deliveries in a file of LinkspanOutbox.
@available(macOS 15, *)
struct OutboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox", abstract: "Lists, retries and erases the deliveries of an outbox.",
        discussion: """
            FILE is the path of the configuration's section `outbox`.

            Exit status: 0 when it is done; 1 when the file cannot be read, another program has it open for writing, or a key \
            is not there; 64 for a mistake in the arguments.
            """,
        subcommands: [List.self, Retry.self, Erase.self])

    /// `linkspan outbox list FILE`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists all deliveries, the oldest first; works while an app has the file open.")

        @Argument(help: "The file.") var file: String
        @Flag(help: "Prints one line of JSON for each delivery.") var json = false

        func run() throws {
            var last: UInt64 = 0
            while case let page = try self.page(after: last), let end = page.last {
                for row in page.map(OutboxRow.init) {
                    if self.json { try LineOutput.show(json: row) } else { LineOutput.show(row.line) }
                }
                last = end.delivery.number
            }
        }

        private func page(after last: UInt64) throws -> [OutboxEntry] {
            do throws(OutboxError) {
                return try Outbox.entries(at: self.file, after: last)
            } catch {
                LineOutput.complain(error.message)
                throw ExitCode.failure
            }
        }
    }

    /// The flags of a change.
    struct Change: ParsableArguments {
        @Argument(help: "The file.") var file: String
        @Argument(help: "The keys of the deliveries, as listed.") var keys: [String]
        @Flag(help: "Prints one object of JSON: the keys that are done, and those that are missing.") var json = false

        /// Changes the rows of each key, of whatever account.
        func perform(_ change: (Outbox, String, String?) async throws(OutboxError) -> Bool) async throws {
            var outcome = Outcome()
            do throws(OutboxError) {
                // Opening would make a file that is not there.
                _ = try Outbox.entries(at: self.file, after: 0)
                let outbox = Outbox(path: self.file)
                let rows = try await outbox.entries(limit: .max)
                for key in self.keys {
                    var isDone = false
                    for row in rows where row.delivery.key == key {
                        if try await change(outbox, key, row.delivery.account) { isDone = true }
                    }
                    if isDone { outcome.done.append(key) } else { outcome.missing.append(key) }
                }
                await outbox.close()
            } catch {
                LineOutput.complain(error.message)
                throw ExitCode.failure
            }
            if self.json { try LineOutput.show(json: outcome) }
            guard outcome.missing.isEmpty else {
                LineOutput.complain(
                    "no such delivery in \(self.file), or not in a state for this: "
                        + outcome.missing.joined(separator: ", "))
                throw ExitCode.failure
            }
        }

        private struct Outcome: Encodable {
            var done: [String] = []
            var missing: [String] = []
        }
    }

    /// `linkspan outbox retry FILE KEY …`.
    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Queues deliveries again that failed; the app sends them when it next connects.")

        @OptionGroup var change: Change

        func run() async throws {
            try await self.change.perform { outbox, key, account throws(OutboxError) in
                try await outbox.retry(key: key, account: account)
            }
        }
    }

    /// `linkspan outbox erase FILE KEY …`.
    struct Erase: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Erases deliveries, waiting or not.")

        @OptionGroup var change: Change

        func run() async throws {
            try await self.change.perform { outbox, key, account throws(OutboxError) in
                try await outbox.erase(key: key, account: account)
            }
        }
    }
}
#endif
