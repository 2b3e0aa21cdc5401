import Foundation

/// The report as one page of HTML with drawings, which needs nothing else.
struct LoadPage {
    let report: LoadReport

    private static let style = """
        body{font:15px system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}\
        table{border-collapse:collapse;margin:.5rem 0 1.5rem}td,th{padding:.2rem .8rem;text-align:right;border-bottom:1px solid #8884}\
        td:first-child,th:first-child{text-align:left}svg{width:100%;height:auto}text{font-size:12px;fill:currentColor}\
        polyline{fill:none;stroke-width:2}.a{stroke:#2a78d6}.b{stroke:#d65f2a}.warning{border-left:4px solid #d65f2a;padding-left:1rem}
        """

    var html: String {
        let title = Self.escaped("Load of \(self.report.url)")
        var body = "<h1>\(title)</h1>\n"
        for note in self.report.notes { body += "<p class=\"warning\">\(Self.escaped(note))</p>\n" }
        func row(_ cells: [String], _ tag: String) -> String {
            "<tr>\(cells.map { "<\(tag)>\(Self.escaped($0))</\(tag)>" }.joined())</tr>\n"
        }
        for (title, heading, rows) in self.report.tables {
            body += "<h2>\(title)</h2>\n<table>\n\(row(heading, "th"))"
            body += "\(rows.map { row($0, "td") }.joined())</table>\n"
        }
        let line = self.report.timeline
        func points(_ value: (LoadTally.Second) -> Double) -> [(Double, Double)] { line.map { ($0.time, value($0)) } }
        body += Self.plot("Open connections", "s", [("open", points { Double($0.open) })])
        body += Self.plot(
            "Messages in a second", "s",
            [("sent", points { Double($0.sent) }), ("received", points { Double($0.received) })])
        body += Self.plot("Times in ms", "s", [("p50", points(\.p50)), ("p99", points(\.p99))])
        let curves = ["request", "delivery"].compactMap { kind in
            self.report.times[kind].map { times in
                (kind, LoadReport.shares.map { (-log10(1 - $0.value), times.quantiles[$0.key] ?? 0) })
            }
        }
        body += Self.plot("Times in ms by share: 1 is 90 %, 2 is 99 %, 4 is 99.99 %", "", curves)
        return """
            <!doctype html><html lang="en"><meta charset="utf-8"><title>\(title)</title><style>\(Self.style)</style>
            \(body)</html>

            """
    }

    /// Draws at most two lines over one axis.
    private static func plot(_ title: String, _ unit: String, _ lines: [(name: String, points: [(Double, Double)])])
        -> String
    {
        let all = lines.flatMap(\.points)
        guard let end = all.map(\.0).max(), let start = all.map(\.0).min(), end > start else { return "" }
        let top = max(all.map(\.1).max() ?? 0, 1e-9)
        var svg =
            "<h2>\(Self.escaped(title))</h2>\n<svg viewBox=\"0 0 800 240\" role=\"img\" aria-label=\"\(Self.escaped(title))\">\n"
        for step in 0...4 {
            let y = 210 - 190 * step / 4
            svg += "<line x1=\"60\" x2=\"790\" y1=\"\(y)\" y2=\"\(y)\" stroke=\"#8884\"/>"
            svg +=
                "<text x=\"54\" y=\"\(y + 4)\" text-anchor=\"end\">\(LoadReport.text(top * Double(step) / 4))</text>\n"
        }
        svg += "<text x=\"60\" y=\"230\">\(LoadReport.text(start)) \(unit)</text>"
        svg += "<text x=\"790\" y=\"230\" text-anchor=\"end\">\(LoadReport.text(end)) \(unit)</text>\n"
        for (index, line) in zip(["a", "b"], lines) {
            let points = line.points.map { x, y in
                String(format: "%.1f,%.1f", 60 + 730 * (x - start) / (end - start), 210 - 190 * y / top)
            }
            svg += "<polyline class=\"\(index)\" points=\"\(points.joined(separator: " "))\"/>"
            svg +=
                "<text x=\"\(index == "a" ? 70 : 160)\" y=\"14\">\(index == "a" ? "blue" : "orange"): \(line.name)</text>\n"
        }
        return svg + "</svg>\n"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;").replacing(
            "\"", with: "&quot;")
    }
}
