import Foundation
import Linkspan
import LinkspanRuntime
import LinkspanTerminal

/// Prints an examination: each stage as it is done, and the verdict, or everything as JSON at the end.
struct DoctorOutput: Sendable {
    private let style: Style
    private let isJSON: Bool
    /// Whether the output is a terminal that understands escape sequences.
    private let isTerminal: Bool
    private let latest = Lock<Report?>(nil)

    init(isJSON: Bool, environment: [String: String]) {
        self.isJSON = isJSON
        self.isTerminal = isatty(STDOUT_FILENO) == 1 && TerminalDevice.understandsSequences(environment)
        self.style = Style(hasColours: self.isTerminal && Style(environment: environment).hasColours)
    }

    /// Names the stage that is under way, at a terminal, until its result stands in its place.
    func begin(_ stage: Stage) {
        guard self.isTerminal, !self.isJSON else { return }
        LineOutput.print("  \(stage.title) …\r")
    }

    /// The last stage of a report.
    func show(_ report: Report) {
        self.latest.withLock { $0 = report }
        guard let result = report.stages.last, !self.isJSON else { return }
        let (mark, role): (String, Role) =
            switch result.outcome {
            case .passed: ("✓", .good)
            case .warned: ("!", .warning)
            case .failed: ("✗", .bad)
            case .skipped: ("-", .hint)
            }
        let name = result.stage.title.padding(toLength: 22, withPad: " ", startingAt: 0)
        if self.isTerminal { LineOutput.print("\u{1B}[K") }
        let time = result.outcome == .skipped ? "" : "  (\(result.milliseconds) ms)"
        self.print([
            Span("\(mark) ", role), Span(name),
            Span(ForeignText.line(result.detail, limit: 400), role == .hint ? .hint : .plain),
            Span(time, .hint),
        ])
    }

    /// The report as it is, of an examination that did not come to its end.
    func interrupt() {
        guard var report = self.latest.withLock({ $0 }) else { return }
        report.interrupt()
        if self.isTerminal { LineOutput.print("\r\u{1B}[K") }
        try? self.end(report)
    }

    /// The verdict.
    func end(_ report: Report) throws {
        guard !self.isJSON else { return try LineOutput.show(json: report) }
        guard report.health != .interrupted else {
            return self.print([Span("\ninterrupted: no fault was found until then", .warning)])
        }
        guard let verdict = report.verdict else { return self.print([Span("\nhealthy: every stage passed", .good)]) }
        let isFault = report.health == .fault
        self.print([
            Span("\n\(isFault ? "fault" : "healthy, with a warning"): ", isFault ? .bad : .warning),
            Span("\(ForeignText.line(verdict.cause, limit: 400)); \(verdict.remedy). [\(verdict.code.name)]"),
        ])
    }

    private func print(_ spans: [Span]) { LineOutput.print(self.style.paint(spans) + "\n") }
}
