import ArgumentParser
import Foundation
import Linkspan
import LinkspanTerminal
import LinkspanTesting

/// The command `linkspan probe`: talks to any server of Socket.IO or WebSocket.
@available(macOS 15, *)
struct ProbeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe", abstract: "Talks to any Socket.IO or WebSocket server, line by line.",
        discussion: """
            \(ProbeLine.manual)

            Lines come from -x, or else from standard input; what the server sends goes to standard output, and news of the \
            connection to standard error.

              linkspan probe http://127.0.0.1:3000 --auth '{"name":"ann","rooms":["lobby"]}' -x '? who {"room":"lobby"}'
              linkspan probe wss://feed.example/v1 -x '{"op":"subscribe"}' --wait 5
              linkspan probe https://chat.example/admin --until ready --wait 30 --json | jq .
              linkspan probe http://127.0.0.1:3000 -x '? who "lobby"' --wait 5 --record visit.jsonl
              linkspan probe http://127.0.0.1:3000 --replay visit.jsonl

            Exit status: 0 when all that was asked for has happened; 64 for a mistake in the arguments or in a line; 69 when the \
            server cannot be reached or the connection is lost; 75 when an acknowledgement or the event of --until has not come \
            in time, or a message of --replay; 76 when the server speaks something else; 77 when it refuses; 130 after Ctrl-C, \
            but with --watch 0.
            """)

    @OptionGroup var target: ProbeTarget

    @Option(
        name: [.customShort("x"), .long], help: "A line to send in place of those of standard input; may be repeated.")
    var execute: [String] = []

    @Option(
        name: [.short, .long], help: "Seconds to stay after the last line, or at most with --until (default 0, or 10).")
    var wait: Double?

    @Option(help: "Ends as soon as this event has come; over a raw WebSocket, a message that contains this text.")
    var until: String?

    @Flag(exclusivity: .exclusive)
    var format: ProbeFormat?

    @Option(help: "Seconds for connecting, and for each acknowledgement.")
    var timeout = 10.0

    @Flag(name: [.short, .long], help: "Prints no news of the connection.")
    var quiet = false

    @Flag(help: "Stays until Ctrl-C, connects again after a loss, and at a terminal shows the state in a line.")
    var watch = false

    @Option(
        help: "A file for the conversation, in the format of LinkspanTesting. Secrets are left out as far as known.")
    var record: String?

    @Flag(help: "Leaves secrets in the file of --record.")
    var unredacted = false

    @Option(help: "A recorded conversation of which the client's messages are sent, each at its time.")
    var replay: String?

    func validate() throws {
        if self.replay != nil, !self.execute.isEmpty {
            throw ValidationError("--replay and --execute exclude each other")
        }
        try self.check("--wait", self.wait ?? 0, from: 0)
        try self.check("--timeout", self.timeout, from: 0.001)
        for line in self.execute {
            if case .mistake(let sentence) = self.target.isRaw ? ProbeLine.message(line) : ProbeLine.event(line) {
                throw ValidationError("--execute '\(line)' cannot be sent: \(sentence)")
            }
        }
    }

    func run() async throws {
        let isTyped = self.execute.isEmpty && self.replay == nil && !self.watch
        let terminal = isTyped ? TerminalDevice(environment: ProcessInfo.processInfo.environment) : nil
        let output = ProbeOutput(
            format: self.format ?? (terminal != nil || isatty(STDOUT_FILENO) == 1 ? .pretty : .line),
            isRaw: self.target.isRaw, isQuiet: self.quiet, terminal: terminal)
        let run = ProbeRun(output: output, timeout: .seconds(self.timeout), until: self.until, isWatching: self.watch)
        var end: ProbeExit
        do throws(LinkspanError) {
            if let record { try CommandFile.check(record, for: "the conversation") }
            let recording = try self.replay.map { path throws(LinkspanError) in try ProbeRecording(path: path) }
            let recorder = ConversationRecorder()
            let configuration = try self.target.configuration(
                timeout: .seconds(self.timeout), returns: self.watch,
                interceptors: self.record == nil && recording == nil ? [] : [recorder])
            let patience = recording.map { $0.rest + .seconds(1) } ?? (self.until == nil ? .zero : .seconds(10))
            end = await run.run(
                configuration, lines: self.lines(output, recording),
                patience: self.wait.map { .seconds($0) } ?? patience)
            if let record {
                try ProbeRecording.write(recorder.conversation, to: record, isRedacted: !self.unredacted)
            }
            let missing = recording?.missing(in: recorder.conversation) ?? []
            if end == .done, !missing.isEmpty {
                output.complain("not received, unlike in the recording: \(missing.joined(separator: ", "))")
                end = .timedOut
            }
        } catch {
            output.complain(error.message)
            end = ProbeExit(error)
        }
        await output.end()
        guard end == .done else { throw end.code }
    }

    private func lines(_ output: ProbeOutput, _ recording: ProbeRecording?) -> AsyncStream<String> {
        if let recording { return recording.lines(isRaw: self.target.isRaw) }
        if let prompt = output.prompt { return prompt.lines }
        guard self.execute.isEmpty, !self.watch else {
            return AsyncStream { lines in
                for line in self.execute { lines.yield(line) }
                lines.finish()
            }
        }
        return LineInput.lines()
    }
}

/// How `linkspan probe` ends: the statuses of sysexits.h, so that scripts can tell failures apart.
enum ProbeExit: Int32, Sendable {
    /// All that was asked for has happened.
    case done = 0
    /// The arguments, or a line, cannot be understood.
    case usage = 64
    /// The server cannot be reached, or the connection was lost.
    case unavailable = 69
    /// An acknowledgement, or the event of `--until`, was not received in time.
    case timedOut = 75
    /// The server speaks something else.
    case `protocol` = 76
    /// The server refuses.
    case refused = 77
    /// Ctrl-C.
    case interrupted = 130

    /// The exit status and message for an error.
    init(_ error: LinkspanError) {
        switch error.code {
        case .invalidURL, .invalidConfiguration, .encodingFailed: self = .usage
        case .timedOut: self = .timedOut
        case .protocolViolation, .unsupportedVersion, .tlsFailed, .redirected: self = .protocol
        case .credentialsRefused, .refused, .closedByServer, .proxyRefused: self = .refused
        // A line that fails with the connection may be noticed before the end of the connection itself.
        case .disconnected, .connectionLost: self = (error.cause as? LinkspanError).map(Self.init) ?? .unavailable
        default: self = .unavailable
        }
    }

    var code: ExitCode { ExitCode(self.rawValue) }
}
