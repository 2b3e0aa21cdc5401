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
        let ready = model.services.values.count { $0.state == "ready" }
        let half = max(10, size.columns / 2 - 24)
        var lines: [[Span]] = [
            [Span("linkspan top", .own), Span("  \(state)", state == "live" ? .good : .warning)],
            Self.meter("Connections", up, of: rows.count, width: half) + [
                Span("   Sent "), Span("\(model.sent)", .own), Span("  Received "), Span("\(model.received)", .own),
                Span("  Failed "), Span("\(model.failed)", model.failed > 0 ? .bad : .own),
            ],
            Self.meter("Services   ", ready, of: model.services.count, width: half) + [
                Span("   Waiting "), Span("\(waiting)", waiting > 0 ? .warning : .own),
                Span("  Memory "), Span("\(model.memory >> 20) MiB", .own),
            ],
            [
                Span("Messages/s  "), Span(Self.spark(model.rates, width: size.columns - 24), .good),
                Span(" \(Int(model.rates.last ?? 0))", .own),
            ],
            [
                Span("Round trip  "), Span(Self.spark(model.roundTrips, width: size.columns - 24), .warning),
                Span(" \(Self.milliseconds(model.roundTrips.last ?? nil))", .own),
            ],
            [],
            [Span("ID     " + Self.cells(Self.titles, size.columns).joined(separator: " "), .prompt)],
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

    private static func meter(_ name: String, _ value: Int, of whole: Int, width: Int) -> [Span] {
        let filled = whole == 0 ? 0 : value * width / whole
        return [
            Span("\(name) ["), Span(String(repeating: "|", count: filled), value == whole ? .good : .bad),
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

    private static let titles = ["ENDPOINT", "STATE", "TRANSPORT", "RTT", "WAIT", "FLIGHT", "MSG/S", "MESSAGES"]
    /// The widths of the columns after the endpoint, which has the rest of the screen.
    private static let widths = [13, 10, 9, 6, 7, 8, 10]

    /// Texts in the columns of the titles; numbers stand at the right.
    private static func cells(_ texts: [String], _ columns: Int) -> [String] {
        let endpoint = max(12, columns - Self.widths.reduce(7) { $0 + $1 + 1 })
        return zip(texts, [endpoint] + Self.widths).enumerated().map { place, cell in
            place < 3 ? Self.left(cell.0, cell.1) : Self.right(cell.0, cell.1)
        }
    }

    private static func line(_ row: TopModel.Row, isSelected: Bool, columns: Int) -> [Span] {
        let stateRole: Role =
            switch row.state {
            case "connected": .good
            case "reconnecting", "created": .warning
            default: .bad
            }
        let texts = [
            row.endpoint, row.state, row.transport, Self.milliseconds(row.roundTrip), "\(row.waiting)",
            "\(row.inFlight)", "\(Int(row.rate.rounded()))", "\(row.messages)",
        ]
        let (cells, role): ([String], Role) = (Self.cells(texts, columns), isSelected ? .own : .plain)
        return [
            Span("\(isSelected ? "›" : " ")\(Self.right("\(row.id)", 5)) \(cells[0]) ", role),
            Span(cells[1], stateRole), Span(" " + cells[2...].joined(separator: " "), role),
        ]
    }

    private static func detail(_ row: TopModel.Row?, _ model: TopModel, now: ContinuousClock.Instant) -> [Span] {
        guard let row else { return [] }
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
