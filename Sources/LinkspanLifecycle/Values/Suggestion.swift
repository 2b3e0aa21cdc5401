/// Suggestions for misspelled names.
package enum Suggestion {
    /// The name that was probably meant.
    package static func closest(to name: String, among candidates: [String]) -> String? {
        // Longer names are no slips of the pen, and comparing them would take long.
        guard name.utf8.count <= 100 else { return nil }
        let limit = min(3, (name.count + 2) / 3)
        let folded = Array(name.lowercased())
        return candidates.map { (distance: Self.distance(folded, Array($0.lowercased())), name: $0) }
            .filter { $0.distance <= limit }
            .min { ($0.distance, $0.name) < ($1.distance, $1.name) }?
            .name
    }

    /// The number of letters that must be added, taken away, changed or swapped with their neighbours.
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
