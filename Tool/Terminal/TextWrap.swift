/// Breaks a paragraph into rows of a width.
struct TextWrap: Sendable {
    private struct Cell: Sendable {
        var character: Character
        var role: Role
        var columns: Int
    }

    private let width: Int
    private let indent: Int
    private var rows: [[Cell]] = []
    private var row: [Cell] = []
    private var columns = 0
    /// Behind the last blank of the row, where it may be broken.
    private var opportunity: Int?

    /// - Parameters:
    ///   - width: the columns of a row; at least 1 is taken.
    ///   - indent: the blanks in front of each row but the first; at most a quarter of the width is taken.
    init(width: Int, indent: Int) {
        self.width = max(1, width)
        self.indent = max(0, min(indent, width / 4))
    }

    /// Takes the next character.
    mutating func add(_ character: Character, _ role: Role) {
        var cell = Cell(character: character, role: role, columns: DisplayWidth.columns(of: character))
        if cell.columns > self.width { cell = Cell(character: "?", role: role, columns: 1) }
        if self.columns + cell.columns > self.width {
            // The blank at the end of a row is not carried over.
            guard character != " " else { return self.breakRow(at: self.row.count) }
            self.breakRow(at: self.opportunity ?? self.row.count)
            if self.columns + cell.columns > self.width { self.breakRow(at: self.row.count) }
        }
        self.row.append(cell)
        self.columns += cell.columns
        if character == " " { self.opportunity = self.row.count }
    }

    /// All rows; there is at least one.
    consuming func finish() -> [[Span]] {
        if self.rows.isEmpty || self.row.contains(where: { $0.character != " " }) { self.rows.append(self.row) }
        return self.rows.map(Self.spans)
    }

    private mutating func breakRow(at place: Int) {
        self.rows.append(Array(self.row[..<place]))
        let blank = Cell(character: " ", role: .plain, columns: 1)
        let rest = self.row[place...]
        self.row = Array(repeating: blank, count: self.indent) + rest
        self.columns = self.row.reduce(0) { $0 + $1.columns }
        self.opportunity = nil
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
