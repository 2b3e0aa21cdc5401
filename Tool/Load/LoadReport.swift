import ArgumentParser
import Foundation

/// The result of a load, as it is written.
struct LoadReport: Codable, Sendable {
    /// Times in milliseconds.
    struct Times: Codable, Sendable {
        var count: Int
        var mean: Double
        /// The times at the shares of ``LoadReport/shares``.
        var quantiles: [String: Double]
        var max: Double

        init(_ histogram: LatencyHistogram) {
            (self.count, self.mean) = (histogram.count, histogram.mean.milliseconds)
            self.max = histogram.longest.milliseconds
            self.quantiles = Dictionary(
                uniqueKeysWithValues: LoadReport.shares.map { ($0.key, histogram.quantile($0.value).milliseconds) })
        }
    }

    /// The cost of the client itself.
    struct Cost: Codable, Sendable {
        var processorSeconds: Double
        /// The processors in use while the steps were taken.
        var processors: Double
        var microsecondsPerMessage: Double
        var residentMiB: Double
        var kibPerClient: Double
    }

    /// A threshold and the value that it was held against.
    struct Verdict: Codable, Sendable {
        var threshold: String
        var value: Double
        var isMet: Bool
    }

    /// The shares of which a report gives the times, the smallest first.
    static let shares: KeyValuePairs = ["p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999]
    /// The counts that a threshold can name.
    fileprivate static let counts: KeyValuePairs<String, @Sendable (Self) -> Double> = [
        "lost": { Double($0.faults.lost) }, "doubled": { Double($0.faults.doubled) },
        "reordered": { Double($0.faults.reordered) }, "failed": { Double($0.failedClients) },
        "errors": { Double($0.errors.values.reduce(0, +)) }, "sent": { Double($0.sent) },
        "received": { Double($0.received) }, "cpu": { $0.cost.microsecondsPerMessage },
        "memory": { $0.cost.residentMiB },
    ]
    /// The names of the times, in the order of a report.
    static let kinds = ["connect", "reconnect", "request", "delivery", "lateness"]

    var url: String
    var clients: Int
    var failedClients: Int
    var seed: UInt64
    var seconds: Double
    var sent: Int
    var received: Int
    var strange: Int
    var times: [String: Times]
    var toServer: SequenceBook.Faults
    var fromServer: SequenceBook.Faults
    var errors: [String: Int]
    var cost: Cost
    var bottleneck: String?
    /// True if Ctrl-C ended the load early.
    var isInterrupted = false
    var thresholds: [Verdict]
    var timeline: [LoadTally.Second]

    /// A number with three digits that mean something.
    static func text(_ value: Double) -> String {
        value == 0 || value >= 100
            ? String(format: "%.0f", value) : String(format: value >= 10 ? "%.1f" : "%.3g", value)
    }

    /// Remarks that come before the tables: an interruption, a bottleneck.
    var notes: [String] {
        [self.isInterrupted ? "interrupted after \(Self.text(self.seconds)) s" : nil, self.bottleneck].compactMap(
            \.self)
    }

    private var faults: SequenceBook.Faults { self.toServer + self.fromServer }

    /// The values that a threshold can name.
    var values: [String: Double] {
        var values = Dictionary(uniqueKeysWithValues: Self.counts.map { ($0.key, $0.value(self)) })
        for (kind, times) in self.times {
            (values["\(kind).mean"], values["\(kind).max"]) = (times.mean, times.max)
            for (name, value) in times.quantiles { values["\(kind).\(name)"] = value }
        }
        return values
    }

    /// The tables of the report that have rows: titles, headings and rows.
    var tables: [(title: String, heading: [String], rows: [[String]])] {
        let shares = Self.shares.map(\.key)
        let times = Self.kinds.compactMap { kind in
            self.times[kind].map { times in
                [kind, "\(times.count)", Self.text(times.mean)] + shares.map { Self.text(times.quantiles[$0] ?? 0) }
                    + [Self.text(times.max)]
            }
        }
        let clients = [self.clients, self.failedClients].map(String.init) + [Self.text(self.seconds)]
        let cost = [
            self.cost.microsecondsPerMessage, self.cost.processors, self.cost.processorSeconds, self.cost.residentMiB,
            self.cost.kibPerClient,
        ]
        return [
            (
                "Clients", ["clients", "failed", "seconds", "sent", "received"],
                [clients + ["\(self.sent)", "\(self.received)"]]
            ),
            ("Times in ms", ["time", "count", "mean"] + shares + ["max"], times),
            (
                "Messages", ["way", "lost", "doubled", "reordered"],
                [["to the server"] + self.toServer.texts, ["from the server"] + self.fromServer.texts]
            ),
            (
                "Cost of the client", ["µs/message", "processors", "processor s", "MiB", "KiB/client"],
                [cost.map(Self.text)]
            ),
            ("Errors", ["error", "count"], self.errors.sorted { $0.value > $1.value }.map { [$0, "\($1)"] }),
            (
                "Thresholds", ["threshold", "value", "met"],
                self.thresholds.map { [$0.threshold, Self.text($0.value), $0.isMet ? "yes" : "no"] }
            ),
        ].filter { !$0.2.isEmpty }
    }

    /// The report as Markdown.
    var markdown: String {
        var text = "# Load of \(self.url)\n"
        for note in self.notes { text += "\n**\(note)**\n" }
        for (title, heading, rows) in self.tables {
            text += "\n## \(title)\n\n"
            for row in [heading, heading.map { _ in "---" }] + rows {
                text += "| \(row.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ")) |\n"
            }
        }
        return text
    }
}

/// A condition for a value of a report, such as `request.p99<50ms`.
struct LoadThreshold: Sendable {
    private let text: String
    private let name: String
    private let isMet: @Sendable (Double) -> Bool

    /// Reads a condition.
    ///
    /// - Throws: `ValidationError` for one that cannot be read.
    init(_ text: String) throws {
        guard let found = text.wholeMatch(of: /\s*([\w.]+)\s*(<=|<|==|>=|>)\s*([\d.]+)\s*(us|ms|s)?\s*/),
            let number = Double(found.3)
        else {
            throw ValidationError(
                "the threshold '\(text)' cannot be read: write it as request.p99<50ms or lost==0")
        }
        let limit = number * (["us": 0.001, "s": 1_000][found.4 ?? ""] ?? 1)
        let kinds = LoadReport.kinds.flatMap { kind in
            (LoadReport.shares.map(\.key) + ["mean", "max"]).map { "\(kind).\($0)" }
        }
        let others = LoadReport.counts.map(\.key)
        self.name = String(found.1)
        guard (kinds + others).contains(self.name) else {
            throw ValidationError(
                "the threshold '\(text)' names no value: use \(others.joined(separator: ", ")), or one of "
                    + "\(LoadReport.kinds.joined(separator: ", ")) with .mean, .p50, .p90, .p99, .p99.9, .p99.99 or .max"
            )
        }
        guard found.4 == nil || kinds.contains(self.name) else {
            throw ValidationError("the threshold '\(text)' has a unit of time, and \(self.name) is no time")
        }
        let compare =
            ["<": { $0 < $1 }, "<=": { $0 <= $1 }, "==": { $0 == $1 }, ">=": { $0 >= $1 }, ">": { $0 > $1 }]
            as [Substring: @Sendable (Double, Double) -> Bool]
        let comparison = compare[found.2]
        self.text = text
        self.isMet = { comparison?($0, limit) ?? false }
    }

    /// The verdict about a report; a time of which there is none is not met.
    func judge(_ report: LoadReport) -> LoadReport.Verdict {
        let value = report.values[self.name]
        return .init(threshold: self.text, value: value ?? 0, isMet: value.map(self.isMet) ?? false)
    }
}
