internal import Foundation
internal import Linkspan
internal import LinkspanSocketIO
internal import Testing
internal import TestSupport

/// Processes that send one event and exit at once, or exit before they have connected.
///
/// Seven of each kind, or as many as `make exits` asks for: so they are not bound by the time limit of the others.
@Suite(.serialized, .sharedServers, .overEachWire, .timeLimit(.minutes(60)))
struct QuickExitTests {
    private struct Engines: Decodable {
        var open: Int
    }

    /// What the server knows of the processes in the end.
    private struct Account: CustomStringConvertible {
        var notes: [Int] = []
        var sessions = 0

        func lost(of runs: Int) -> Int { runs - Set(self.notes).count }

        var description: String {
            "\(self.notes.count) arrived, \(self.notes.count - Set(self.notes).count) of them twice, "
                + "\(self.sessions) sessions left"
        }
    }

    private static let runs = ProcessInfo.processInfo.environment["EXITS"].flatMap(Int.init) ?? 7

    @Test(arguments: ["shutdown", "stop", "drain"])
    func `messages sent before exit arrive, and a clean exit leaves no session`(_ departure: String) async throws {
        // As the official server does: an event that comes in one read with DISCONNECT is dropped.
        try await withServer(.aiohttp, ["--next-tick"]) { server in
            try await Bench.use { bench in
                let observer = try await bench.socketIO(server)
                try await observer.connected()
                let began = ContinuousClock.now
                for number in 0..<Self.runs { try await Self.run(departure, server, number) }
                let pause = began.duration(to: .now) / .milliseconds(Self.runs)
                let account = try await Self.account(by: observer, isGoodbye: departure != "drain")
                print(
                    "\(Self.runs) exits by \(departure) over \(Wire.current), \(Int(pause)) ms each: "
                        + "\(account.lost(of: Self.runs)) lost, \(account)")
                #expect(account.notes.sorted() == Array(0..<Self.runs))
                // Without a goodbye a session that polls stays for as long as a heartbeat takes.
                if departure != "drain" { #expect(account.sessions == 0) }
            }
        }
    }

    @Test
    func `a process that exits in the middle of an attempt to connect does not crash`() async throws {
        try await withServer(.aiohttp) { server in
            for number in 0..<Self.runs { try await Self.run("leave", server, number) }
            print("\(Self.runs) exits by leave over \(Wire.current): each with status 0")
        }
    }

    private static func run(_ departure: String, _ server: PythonServer, _ number: Int) async throws {
        let scheme = server.isSecure ? "https" : "http"
        var arguments = [
            departure, "\(scheme)://127.0.0.1:\(server.port)", Wire.current.carriers.rawValue, "\(number)",
        ]
        if let authority = server.authority { arguments.append(authority) }
        let run = try await ProgramRun(product: "quick-exit", arguments)
        #expect(run.status == 0, "\(run.output)\(run.errors)")
    }

    /// Asks until all has arrived, or what is missing cannot be on its way any more.
    private static func account(by observer: Client, isGoodbye: Bool) async throws -> Account {
        var account = Account()
        let end = ContinuousClock.now + .seconds(15)
        repeat {
            account.notes = try await observer.handler.request("notes", timeout: .seconds(30)).decode([Int].self)
            // The observer's own is not counted.
            account.sessions =
                try await observer.handler.request("engines", timeout: .seconds(30)).decode(Engines.self).open - 1
        } while (account.notes.count < Self.runs || isGoodbye && account.sessions > 0) && ContinuousClock.now < end
        return account
    }
}
