/// What became of numbered lines on their way to somebody.
struct Delivery: Sendable, Equatable, CustomStringConvertible {
    private var lost: [Int] = []
    private var repeated: [Int] = []
    private var overtaken: [Int] = []
    private var foreign: [String] = []

    /// Every line arrived once and in order.
    static let perfect = Self()

    private init() {}

    /// Compares lines with those that `name` typed, see ``lines(_:from:)``.
    init(of count: Int, from name: String, in lines: [String]) {
        var seen: Set<Int> = []
        var last = 0
        for line in lines {
            guard line.hasPrefix("\(name) "), let number = Int(line.dropFirst(name.count + 1)) else {
                self.foreign.append(line)
                continue
            }
            if !seen.insert(number).inserted {
                self.repeated.append(number)
            } else if number < last {
                self.overtaken.append(number)
            }
            last = max(last, number)
        }
        self.lost = (1...count).filter { !seen.contains($0) }
    }

    /// Numbered lines for somebody to type.
    static func lines(_ numbers: ClosedRange<Int>, from name: String) -> [String] { numbers.map { "\(name) \($0)" } }

    var description: String {
        let parts = [("lost", self.lost), ("repeated", self.repeated), ("overtaken", self.overtaken)]
            .map { "\($0): \($1.count) \($1.prefix(10))" }
        return parts.joined(separator: ", ") + ", foreign: \(self.foreign.prefix(3))"
    }
}

extension Child {
    /// What somebody said, as it stands on this screen.
    func heard(from name: String) async -> [String] {
        await self.output.lines.filter { $0.hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
    }

    /// Waits until so many lines from somebody are on this screen.
    func hear(_ count: Int, from name: String, within limit: Duration = .seconds(40)) async throws {
        try await self.output.wait(forLine: "\(name): ", times: count, within: limit)
    }
}
