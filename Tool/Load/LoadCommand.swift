import ArgumentParser
import Foundation
import Linkspan
import LinkspanFaults
import LinkspanTerminal

#if YAML
import Yams
#endif

/// The command `linkspan load`: many clients of one server, and what becomes of their messages.
@available(macOS 15, *)
struct LoadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load", abstract: "Puts a server under load, and finds lost, doubled and reordered messages.",
        discussion: """
            Each client connects, then takes the steps of a scenario, or the one step of the flags. Payloads are the \
            arguments in JSON; in them {{stamp}} is a number that the server only has to pass on, {{client}} the client's \
            number, and {{COLUMN}} a cell of the table of users.

              linkspan load http://127.0.0.1:3000 --clients 1000 --ramp 5 --emit echo --rate 10 --duration 30
              linkspan load wss://feed.example --transport websocket --scenario peak.yaml --html peak.html
              linkspan load http://127.0.0.1:3000 --request req --rate 50 --duration 60 --threshold 'request.p99<50ms'

            A scenario:

              clients: 1000          # ramp, duration, repeat, settle: seconds and rounds
              ramp: 5
              users: users.csv       # its first line names the columns
              auth: '{"token": "{{token}}"}'
              namespaces: [/, /chat] # a step's namespace is its place in this list, from 0
              drop: 0.1              # a tenth of the connections is reset in each second
              profile: {phases: [{delay: 0.04, loss: 0.01}]}
              steps:
                - {emit: say, payload: '{"text": "{{stamp}}"}', rate: 10, count: 100, audience: everyone}
                - {expect: news, within: 5}
                - {request: who, payload: '"lobby"', within: 2}
                - {think: 1.5}
              thresholds: [request.p99<50ms, lost==0]

            Audience says who gets a message: none, sender, others or everyone; of an emit with a stamp it is the sender \
            unless given. Times count from when a message was due by its rate. With several receivers the way on which a \
            message was lost is known; of an echo it is known if it is sent as a request. \
            Thresholds of times are in ms, or have a unit: us, ms or s.

            Ctrl-C ends the load, and prints the report of what was measured until then.

            Exit status: 0 when every threshold is met; 1 when one is missed; 64 for a mistake in the arguments or in a file; \
            69 when no client could connect; 130 after Ctrl-C.
            """)

    @OptionGroup var target: ProbeTarget

    @Option(help: "A scenario in YAML; flags count before it.")
    var scenario: String?

    @Option(help: "The number of clients (default 100).")
    var clients: Int?

    @Option(help: "Seconds over which clients begin (default 1).")
    var ramp: Double?

    @Option(help: "Seconds for the steps, repeated (default until they are done).")
    var duration: Double?

    @Option(help: "An event to send, in place of the scenario's steps.")
    var emit: String?

    @Option(help: "An event to send and have acknowledged, in place of the scenario's steps.")
    var request: String?

    @Option(help: "The arguments of --emit or --request, JSON (default \"{{stamp}}\").")
    var payload: String?

    @Option(help: "Messages of each client in a second (default one after the other).")
    var rate: Double?

    @Option(help: "Messages of each client.")
    var count: Int?

    @Option(help: "The receivers of --emit or --request: none, sender, others or everyone.")
    var audience: SequenceBook.Audience?

    @Option(help: "A table of users, CSV.")
    var users: String?

    @Option(help: "Connections to reset in each second, such as 10%/s.")
    var drop: String?

    @Option(help: "Delay, loss and other faults of the network, as for `linkspan proxy`.")
    var profile: String?

    @Option(help: "Determines the faults that happen by chance.")
    var seed: UInt64?

    @Option(help: "A condition such as request.p99<50ms or lost==0 (a time without unit: ms); may be repeated.")
    var threshold: [String] = []

    @Option(help: "A file for the report in Markdown.")
    var markdown: String?

    @Option(help: "A file for the report as a page with drawings.")
    var html: String?

    @Flag(help: "Prints the report as JSON.")
    var json = false

    @Option(help: "Seconds for connecting.")
    var timeout = 10.0

    func validate() throws {
        try self.check("--timeout", self.timeout, from: 0.001)
        if self.emit != nil, self.request != nil { throw ValidationError("--emit and --request exclude each other") }
        let ofStep = [
            "--payload": self.payload != nil, "--rate": self.rate != nil, "--count": self.count != nil,
            "--audience": self.audience != nil,
        ]
        if self.emit == nil, self.request == nil, let flag = ofStep.filter(\.value).keys.min() {
            throw ValidationError("\(flag) needs --emit or --request; a scenario has it in its steps")
        }
    }

    func run() async throws {
        let scenario = try self.plan()
        let thresholds = try scenario.thresholds.map { try LoadThreshold($0) }
        let faulty = scenario.profile != nil || scenario.drop > 0
        try ProcessCost.allow(files: scenario.clients * (scenario.namespaces?.count ?? 1) * (faulty ? 3 : 1) + 64)
        let run = try LoadRun(
            scenario, try self.target.configuration(timeout: .seconds(self.timeout)), headers: self.target.headers,
            users: try scenario.users.map(CommandFile.text), timeout: .seconds(self.timeout))
        guard var report = await run.run({ StatusLine.show($0) }, until: Interruption.wait) else { return }
        StatusLine.clear()
        report.thresholds = thresholds.map { $0.judge(report) }
        try self.write(report)
        if report.failedClients == report.clients, !report.isInterrupted {
            let cause = report.errors.max { $0.value < $1.value }?.key ?? "no reason is known"
            LineOutput.complain(
                "no client could connect to \(report.url): \(cause); `linkspan doctor \(report.url)` finds the cause")
            throw ExitCode(69)
        }
        if report.isInterrupted { throw ExitCode(Interruption.status) }
        guard report.thresholds.allSatisfy(\.isMet) else { throw ExitCode.failure }
    }

    /// The scenario of the file, changed by the flags.
    private func plan() throws -> LoadScenario {
        var plan = try self.scenario.map { try Self.read($0, as: LoadScenario.self) } ?? LoadScenario()
        plan.clients = self.clients ?? plan.clients
        plan.ramp = self.ramp ?? plan.ramp
        plan.duration = self.duration ?? plan.duration
        plan.users = self.users ?? plan.users
        plan.auth = self.target.auth ?? plan.auth
        plan.seed = self.seed ?? plan.seed
        plan.thresholds += self.threshold
        if let profile { plan.profile = try Self.read(profile, as: FaultProfile.self) }
        for path in [self.markdown, self.html].compactMap(\.self) {
            try CommandFile.check(path, for: "the report")
        }
        if let drop {
            guard let found = drop.wholeMatch(of: /([\d.]+)%(\/s)?/), let percent = Double(found.1) else {
                throw ValidationError("--drop '\(drop)' cannot be read: write it as 10%/s")
            }
            plan.drop = percent / 100
        }
        if let event = self.emit ?? self.request {
            var step = LoadScenario.Step(self.emit == nil ? .request : .emit, event)
            (step.payload, step.rate, step.count) = (self.payload ?? step.payload, self.rate, self.count)
            step.audience = self.audience
            plan.steps = [step]
        }
        try plan.check()
        return plan
    }

    /// Reads a file of YAML.
    static func read<Value: Decodable>(_ path: String, as type: Value.Type) throws -> Value {
        let text = try CommandFile.text(of: path)
        do {
            #if YAML
            return try YAMLDecoder().decode(type, from: text)
            #else
            // JSON is YAML, and needs no library.
            return try JSONDecoder().decode(type, from: Data(text.utf8))
            #endif
        } catch {
            throw ValidationError((error as? DecodingError)?.sentence(for: path, text) ?? "\(path): \(error)")
        }
    }

    private func write(_ report: LoadReport) throws {
        if self.json { try LineOutput.show(json: report) } else { LineOutput.showLines(report.markdown) }
        for (path, text) in [(self.markdown, report.markdown), (self.html, LoadPage(report: report).html)] {
            if let path { try CommandFile.write(text, to: path, for: "the report") }
        }
    }
}
