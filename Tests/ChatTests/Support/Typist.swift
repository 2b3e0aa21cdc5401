internal import TestedPrograms

/// Types numbered lines at a steady pace.
actor Typist {
    private let name: String
    private let child: Child
    private let pause: Duration
    private var isFinished = false
    /// How many lines were typed so far.
    private(set) var count = 0

    /// Prepares somebody whose pace is that of a quick writer; nothing waits for it.
    init(_ name: String, at child: Child, every pause: Duration = .milliseconds(5)) {
        self.name = name
        self.child = child
        self.pause = pause
    }

    /// Types until it is told to finish.
    ///
    /// With a `reader` it is never more than 40 lines ahead of them: what a busy machine cannot keep up with would pile up
    /// until the time is over.
    func run(ahead reader: Child? = nil) async throws {
        while !self.isFinished {
            self.count += 1
            try self.child.type(Delivery.lines(self.count...self.count, from: self.name))
            if let reader, self.count.isMultiple(of: 10) {
                try await reader.hear(self.count - 30, from: self.name)
            }
            try await Task.sleep(for: self.pause)
        }
    }

    /// Types no further line.
    func finish() { self.isFinished = true }
}

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
