import ArgumentParser
import Foundation
import Linkspan
import LinkspanBackEnds
import LinkspanNetwork
import LinkspanSocketIO
import LinkspanTerminal

/// The command `linkspan doctor`.
@available(macOS 15, *)
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Finds out why a connection fails, stage by stage.",
        discussion: """
            Goes through name, addresses, proxy, TLS, HTTP, origin, upgrade, namespace, size of messages, polling, the upgrade \
            from polling and the heartbeat, and prints how each went and how long it took; at the end, the cause of a fault and \
            its remedy. Of a raw WebSocket the stages that it has. It sends no event to the app behind the server.

              linkspan doctor https://chat.example/admin --auth '{"token":"…"}'
              linkspan doctor wss://feed.example/v1 --idle 70 --timeout 90
              linkspan doctor https://chat.example --origin https://app.example --json | jq .verdict

            Exit status: 0 healthy, perhaps with a warning; 1 a fault was found; 64 a mistake in the arguments; 130 after \
            Ctrl-C, when what was found until then was printed.
            """)

    @OptionGroup var target: ProbeTarget

    @Option(help: "Seconds for the whole examination; a step takes at most a sixth of it.") var timeout = 60.0

    @Option(help: "Seconds for which a raw WebSocket is silent, to see whether it is cut.") var idle = 5.0

    @Option(
        help: "The origin of the web pages that connect, such as https://app.example; the server's own unless given.")
    var origin: String?

    @Option(name: .customLong("message-size"), help: "The bytes of the largest message that the app sends.")
    var messageSize = 16_384

    @Flag(help: "Prints one object of JSON at the end.") var json = false

    func validate() throws {
        try self.check("--timeout", self.timeout, from: 1)
        try self.check("--idle", self.idle, from: 1)
        guard self.target.version == .v4 else {
            throw ValidationError("--version has to be v4: the doctor examines servers of Socket.IO 3 and newer")
        }
        if let origin, origin.wholeMatch(of: /[a-z][a-z0-9+.-]*:\/\/[^\/]+/) == nil {
            throw ValidationError("--origin has to be a scheme and a host, as https://app.example, not '\(origin)'")
        }
        guard (1...(1 << 24)).contains(self.messageSize) else {
            throw ValidationError("--message-size has to be from 1 to 16777216")
        }
    }

    func run() async throws {
        let output = DoctorOutput(isJSON: self.json, environment: ProcessInfo.processInfo.environment)
        let plan = try self.plan
        async let _: Void = Self.endOnInterruption(output)
        let report = await Examination(plan, begin: output.begin, show: output.show).run()
        try output.end(report)
        if report.health == .fault { throw ExitCode.failure }
    }

    /// Prints what was found when Ctrl-C comes, and ends the process.
    private static func endOnInterruption(_ output: DoctorOutput) async {
        await Interruption.wait()
        guard !Task.isCancelled else { return }
        output.interrupt()
        // Other threads are in the midst of a stage, so nothing is torn down.
        _exit(LineOutput.status(or: Interruption.status))
    }

    private var plan: Examination.Plan {
        get throws(LinkspanError) {
            let url = try ConnectionURL(try self.target.endpoint())
            let patience = Duration.seconds(min(10, self.timeout / 6))
            // A request has one origin, by the flag or the header.
            let (origins, headers) = self.target.headers.reduce(into: ([String](), [StreamRequest.Header]())) {
                let (name, value) = ($1.name, $1.value.exposed)
                if name.lowercased() == "origin" { $0.0.append(value) } else { $0.1.append((name, value)) }
            }
            let origin = self.origin ?? origins.first
            let dialer = Dialer(
                url: url, headers: headers, tls: try self.target.tls, proxy: try self.target.networkProxy,
                loop: self.target.network.backEnd.sharedLoop, origin: origin, patience: patience)
            return Examination.Plan(
                target: self.target, url: url, dialer: dialer, timeout: .seconds(self.timeout),
                idle: .seconds(self.idle), origin: origin, messageSize: self.messageSize)
        }
    }
}
