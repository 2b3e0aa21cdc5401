/// Guesses what was meant by a name that nobody has.
enum Suggestion {
    /// The candidate that is closest to `name`, if it is close enough to be a slip of the pen.
    static func closest(to name: String, among candidates: [String]) -> String? {
        let limit = max(1, name.count / 3)
        return candidates.map { (distance: Self.distance(name, $0), name: $0) }
            .filter { $0.distance <= limit }
            .min { ($0.distance, $0.name) < ($1.distance, $1.name) }?
            .name
    }

    /// How many letters must be added, taken away or changed.
    private static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, other) in right.enumerated() {
                let change = diagonal + (letter == other ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(change, diagonal + 1, row[column] + 1)
            }
        }
        return row[right.count]
    }
}
