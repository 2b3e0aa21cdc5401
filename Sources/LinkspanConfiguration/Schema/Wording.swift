/// Pieces of messages: names that were not meant, values as they may be shown.
enum Wording {
    /// Text from outside in one short line, whatever it holds.
    static func shown(_ text: String, limit: Int = 60) -> String {
        var output = ""
        for (count, scalar) in text.unicodeScalars.enumerated() {
            guard count < limit else { return output + "…" }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
                output += "\\u{\(String(scalar.value, radix: 16))}"
            default:
                output.unicodeScalars.append(scalar)
            }
        }
        return output
    }

    /// A name that nobody has, with what it could have been.
    static func unknown(_ noun: String, _ name: String, known: [String]) -> String {
        var hints: [String] = []
        if let guess = Self.nearest(to: name, among: known) { hints.append("did you mean '\(guess)'?") }
        hints.append(known.isEmpty ? "none is known" : "known: \(known.sorted().joined(separator: ", "))")
        return "unknown \(noun) '\(Self.shown(name))' (\(hints.joined(separator: " ")))"
    }

    /// The name that was probably meant.
    static func nearest(to name: String, among known: [String]) -> String? {
        // Longer names are no slips of the pen, and comparing them would take long.
        guard name.utf8.count <= 100 else { return nil }
        let limit = min(3, max(1, name.count / 3))
        let folded = Array(name.lowercased())
        return known.map { (distance: Self.distance(folded, Array($0.lowercased())), name: $0) }
            .filter { $0.distance <= limit }
            .min { ($0.distance, $0.name) < ($1.distance, $1.name) }?
            .name
    }

    /// How many letters must be added, taken away, changed or swapped with their neighbours.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var older: [Int] = []
        var old = Array(0...right.count)
        for row in left.indices {
            var new = [row + 1]
            for column in right.indices {
                var best = min(old[column + 1], new[column]) + 1
                best = min(best, old[column] + (left[row] == right[column] ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    best = min(best, older[column - 1] + 1)
                }
                new.append(best)
            }
            older = old
            old = new
        }
        return old[right.count]
    }
}
