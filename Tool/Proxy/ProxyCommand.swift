import ArgumentParser
import Foundation
import Linkspan
import LinkspanFaults
import LinkspanTerminal

/// The command `linkspan proxy`: a TCP proxy that disturbs the connections through it.
@available(macOS 15, *)
struct ProxyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "proxy", abstract: "Passes connections on and disturbs them: delay, loss, cuts, resets.",
        discussion: """
            LISTEN and TARGET are HOST:PORT; LISTEN may be a port of this machine. A profile is a file of YAML:

              phases:
                - {delay: 0.04, jitter: 0.02, loss: 0.01}   # from the beginning
                - {at: 30, cut: 0, ending: reset}           # after 30 s every connection is reset
                - {at: 45, rate: 65536, from: server}       # after 45 s all is well, but for 64 KiB/s to clients

            delay, jitter and at are seconds, rate is bytes in a second; loss, corruption and drops are probabilities: of a \
            segment to be sent again, of a byte to change, of a connection to end within a second. cut ends a connection \
            after so many bytes of a direction, by ending: close, reset or halfOpen. from limits a phase to the bytes of \
            client or server. With the same seed the same happens to the same bytes.

              linkspan proxy 127.0.0.1:4000 127.0.0.1:3000 --profile lossy.yaml --seed 7

            It runs until Ctrl-C. Exit status: 0 after that; 64 for a mistake in the arguments or in the profile, or for a \
            port that is not free.
            """)

    @Argument(help: "Where to listen, HOST:PORT or PORT.")
    var listen: String

    @Argument(help: "The server, HOST:PORT.")
    var target: String

    @Option(help: "The faults, a file of YAML (default none).")
    var profile: String?

    @Option(help: "Determines the faults that happen by chance.")
    var seed: UInt64 = 0

    @Flag(help: "Prints the state once in a second, a line of JSON each.")
    var json = false

    func run() async throws {
        let (address, port) = try Self.place(self.listen.contains(":") ? self.listen : "127.0.0.1:\(self.listen)")
        let target = try Self.place(self.target)
        for (name, ports, port) in [("LISTEN", 0...65_535, port), ("TARGET", 1...65_535, target.port)] {
            guard ports.contains(port) else {
                throw ValidationError("the port of \(name) has to be from \(ports.lowerBound) to 65535, not \(port)")
            }
        }
        let proxy = try FaultProxy(
            to: target.host, port: target.port, listeningAt: address, port: port,
            profile: try self.profile.map { try LoadCommand.read($0, as: FaultProfile.self) } ?? FaultProfile(),
            seed: self.seed)
        LineOutput.remark("listening at port \(proxy.port) for \(self.target), seed \(self.seed)")
        let start = ContinuousClock.now
        do {
            async let _: Void = Self.watch(proxy, since: start, isJSON: self.json)
            await Interruption.wait()
        }
        await proxy.stop()
        Self.show(proxy, since: start, isJSON: self.json)
    }

    /// Shows the state once in a second: always as JSON, else when it has changed.
    private static func watch(_ proxy: FaultProxy, since start: ContinuousClock.Instant, isJSON: Bool) async {
        var last: FaultProxy.Statistics?
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            guard isJSON || proxy.statistics != last else { continue }
            last = proxy.statistics
            Self.show(proxy, since: start, isJSON: isJSON)
        }
    }

    private static func show(_ proxy: FaultProxy, since start: ContinuousClock.Instant, isJSON: Bool) {
        let statistics = proxy.statistics
        if isJSON {
            // Numbers can always be encoded.
            try? LineOutput.show(json: [
                "seconds": Int((.now - start) / .seconds(1)), "port": proxy.port,
                "connections": statistics.connections, "ended": statistics.ended, "bytes": statistics.bytes,
                "corruptedBytes": statistics.corruptedBytes, "lostSegments": statistics.lostSegments,
            ])
        } else {
            LineOutput.show(
                "\(statistics.connections) connections, \(statistics.ended) ended by the profile, "
                    + "\(statistics.bytes) bytes, \(statistics.corruptedBytes) changed, "
                    + "\(statistics.lostSegments) segments held up")
        }
    }

    private static func place(_ text: String) throws -> (host: String, port: Int) {
        let parts = text.split(separator: ":").map(String.init)
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]), parts.count > 1
        else {
            throw ValidationError("'\(text)' is no address: write it as HOST:PORT, such as 127.0.0.1:3000")
        }
        return (text[..<colon].trimmingCharacters(in: ["[", "]"]), port)
    }
}
