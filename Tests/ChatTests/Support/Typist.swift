/// Types numbered lines at a steady pace.
actor Typist {
    private let name: String
    private let child: Child
    private var isFinished = false
    /// How many lines were typed so far.
    private(set) var count = 0

    init(_ name: String, at child: Child) {
        self.name = name
        self.child = child
    }

    /// Types until it is told to finish.
    func run() async throws {
        while !self.isFinished {
            self.count += 1
            try self.child.type(Delivery.lines(self.count...self.count, from: self.name))
            // The pace of a quick writer; nothing waits for it.
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Types no further line.
    func finish() { self.isFinished = true }
}
