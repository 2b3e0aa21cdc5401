import LinkspanTerminal

/// A character of a paragraph, and the columns that it takes.
private struct Cell {
    var character: Character
    var role: Role
    var columns: Int

    static let blank = Self(character: " ", role: .plain, columns: 1)

    var isBlank: Bool { self.character == " " }
}

extension [Span] {
    /// Breaks it into rows, between words where that can be.
    ///
    /// - Parameters:
    ///   - width: the columns of a row; at least 1 is taken.
    ///   - indent: the blanks in front of each row but the first; at most a quarter of the width is taken.
    /// - Returns: the rows; there is at least one.
    func wrapped(to width: Int, indent: Int) -> [[Span]] {
        let width = Swift.max(1, width)
        let blanks = Array<Cell>(repeating: .blank, count: Swift.max(0, Swift.min(indent, width / 4)))
        var rest = Self.cells(self, width)[...]
        var rows: [[Cell]] = []
        while true {
            let lead = rows.isEmpty ? [] : blanks
            var columns = lead.count
            let row = rest.prefix { cell in
                columns += cell.columns
                return columns <= width
            }
            guard let next = rest[row.endIndex...].first else {
                if rows.isEmpty || !row.allSatisfy(\.isBlank) { rows.append(lead + row) }
                return rows.map(Self.spans)
            }
            let end = next.isBlank ? row.endIndex : row.lastIndex(where: \.isBlank).map { $0 + 1 } ?? row.endIndex
            rows.append(lead + rest[..<end])
            // The blank at the end of a row is not carried over.
            rest = rest[(next.isBlank ? end + 1 : end)...]
        }
    }

    /// The characters; a question mark stands for one that is wider than a row.
    private static func cells(_ spans: [Span], _ width: Int) -> [Cell] {
        spans.flatMap { span in
            span.text.map { character in
                let columns = DisplayWidth.columns(of: character)
                return columns > width
                    ? Cell(character: "?", role: span.role, columns: 1)
                    : Cell(character: character, role: span.role, columns: columns)
            }
        }
    }

    private static func spans(_ cells: [Cell]) -> [Span] {
        var spans: [Span] = []
        for cell in cells {
            if spans.last?.role == cell.role {
                spans[spans.count - 1].text.append(cell.character)
            } else {
                spans.append(Span(String(cell.character), cell.role))
            }
        }
        return spans
    }
}
