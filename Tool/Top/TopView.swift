import Foundation
import LinkspanTerminal

/// Draws what an inspector has told, in the manner of htop: meters above, one row for each connection below.
enum TopView {
    /// Makes the rows of a screen.
    static func rows(
        of model: TopModel, size: TerminalSize, state: String, now: ContinuousClock.Instant
    ) -> [[Span]] {
        let rows = model.sorted
        let up = rows.count { $0.state == "connected" }
        let waiting = model.waiting
        let broken = model.services.values.count { $0.state != "ready" }
        let half = max(10, size.columns / 2 - 24)
        var lines: [[Span]] = [
            [Span("linkspan top", .own), Span("  \(state)", state == "live" ? .good : .warning)],
            Self.meter("Connections", up, rows.count, width: half, isGood: up == rows.count) + [
                Span("   Sent "), Span("\(model.sent)", .own), Span("  Received "), Span("\(model.received)", .own),
                Span("  Failed "), Span("\(model.failed)", model.failed > 0 ? .bad : .own),
            ],
            Self.meter(
                "Services   ", model.services.count - broken, model.services.count, width: half,
                isGood: broken == 0) + [
                    Span("   Waiting "), Span("\(waiting)", waiting > 0 ? .warning : .own), Span("  Memory "),
                    Span("\(model.memory >> 20) MiB", .own),
                ],
            [Span("Messages/s  "), Span(Self.spark(model.rates, width: size.columns - 24), .good)]
                + [Span(" \(Int(model.rates.last ?? 0))", .own)],
            [Span("Round trip  "), Span(Self.spark(model.roundTrips, width: size.columns - 24), .warning)]
                + [Span(" \(Self.milliseconds(model.roundTrips.last ?? nil))", .own)],
            [],
            [Span(Self.header(size.columns), .prompt)],
        ]
        let room = max(1, size.rows - lines.count - 3)
        let place = rows.firstIndex { $0.id == model.selected } ?? 0
        let first = max(0, min(place - room / 2, rows.count - room))
        for row in rows.dropFirst(first).prefix(room) {
            lines.append(Self.line(row, isSelected: row.id == model.selected, columns: size.columns))
        }
        while lines.count < size.rows - 2 { lines.append([]) }
        lines.append(Self.detail(rows.first { $0.id == model.selected }, model, now: now))
        lines.append([
            Span("↑↓", .prompt), Span(" select  ", .hint), Span("s", .prompt),
            Span(" sort: \(model.order.rawValue)  ", .hint), Span("q", .prompt), Span(" quit", .hint),
        ])
        return lines.prefix(size.rows).map { $0.fitted(to: size.columns) }
    }

    private static func meter(_ name: String, _ value: Int, _ whole: Int, width: Int, isGood: Bool) -> [Span] {
        let filled = whole == 0 ? 0 : value * width / whole
        return [
            Span("\(name) ["), Span(String(repeating: "|", count: filled), isGood ? .good : .bad),
            Span(String(repeating: " ", count: width - filled)), Span(" \(value)/\(whole)]"),
        ]
    }

    /// A chart of one row; a point without a value is a gap.
    static func spark(_ values: [Double?], width: Int) -> String {
        let marks = Array("▁▂▃▄▅▆▇█")
        let shown = values.suffix(max(0, width))
        let top = shown.compactMap { $0 }.max() ?? 0
        let chart = shown.map { value -> Character in
            guard let value else { return " " }
            return top == 0 ? marks[0] : marks[min(7, Int(value / top * 7.99))]
        }
        return String(repeating: " ", count: max(0, width) - chart.count) + String(chart)
    }

    /// The columns after the endpoint, with their widths.
    private static let columns: [(name: String, width: Int)] = [
        ("STATE", 13), ("TRANSPORT", 10), ("RTT", 9), ("WAIT", 6), ("FLIGHT", 7), ("MSG/S", 8), ("MESSAGES", 10),
    ]

    private static func endpointWidth(_ columns: Int) -> Int {
        max(12, columns - Self.columns.reduce(7) { $0 + $1.width + 1 })
    }

    private static func header(_ columns: Int) -> String {
        Self.left("ID", 6) + " " + Self.left("ENDPOINT", Self.endpointWidth(columns))
            + Self.columns.enumerated().map {
                " " + ($0 < 2 ? Self.left($1.name, $1.width) : Self.right($1.name, $1.width))
            }
            .joined()
    }

    private static func line(_ row: TopModel.Row, isSelected: Bool, columns: Int) -> [Span] {
        let role: Role =
            switch row.state {
            case "connected": .good
            case "reconnecting", "created": .warning
            default: .bad
            }
        let numbers = [
            Self.milliseconds(row.roundTrip), "\(row.waiting)", "\(row.inFlight)", "\(Int(row.rate.rounded()))",
            "\(row.messages)",
        ]
        let texts = zip(numbers, Self.columns.dropFirst(2)).map { " " + Self.right($0, $1.width) }.joined()
        let head = (isSelected ? "›" : " ") + Self.right("\(row.id)", 5) + " "
        return [
            Span(head + Self.left(row.endpoint, Self.endpointWidth(columns)) + " ", isSelected ? .own : .plain),
            Span(Self.left(row.state, 13), role),
            Span(" " + Self.left(row.transport, 10) + texts, isSelected ? .own : .plain),
        ]
    }

    private static func detail(
        _ row: TopModel.Row?, _ model: TopModel, now: ContinuousClock.Instant
    ) -> [Span] {
        guard let row else { return [Span("", .hint)] }
        guard let next = row.nextAttempt, let heard = model.heard else { return [Span(row.why, .news)] }
        let left = Double(next - model.now) / 1_000 - heard.duration(to: now) / .seconds(1)
        let seconds = String(format: "%.1f", max(0, left))
        return [Span("next attempt in \(seconds) s  ", .warning), Span(row.why, .news)]
    }

    private static func milliseconds(_ value: Double?) -> String {
        value.map { String(format: "%.1f ms", $0) } ?? "-"
    }

    private static func left(_ text: String, _ width: Int) -> String {
        let fitted = [Span(text)].fitted(to: width)
        return fitted.text + String(repeating: " ", count: max(0, width - fitted.columns))
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}
