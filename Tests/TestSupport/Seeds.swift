/// The seeds of a random test.
package enum Seeds {
    /// The seeds that a text names: a count from the first of `standard` on, a range such as `1000-2000`, or one as `=1234`.
    package static func named(_ text: String?, or standard: ClosedRange<UInt64>) -> ClosedRange<UInt64> {
        guard let text else { return standard }
        if text.hasPrefix("="), let seed = UInt64(text.dropFirst()) { return seed...seed }
        let numbers = text.split(separator: "-").compactMap { UInt64($0) }
        if numbers.count == 2, numbers[0] <= numbers[1] { return numbers[0]...numbers[1] }
        guard let count = numbers.first, count > 0 else { return standard }
        return standard.lowerBound...standard.lowerBound + (count - 1)
    }
}
