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
