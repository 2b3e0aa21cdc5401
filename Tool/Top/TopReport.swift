import LinkspanTerminal

/// A screen of `linkspan top` as JSON.
struct TopReport: Encodable {
    var sent: Int
    var received: Int
    var failed: Int
    /// Bytes.
    var memory: Int
    var connections: [TopModel.Row]
    var services: [TopModel.Service]

    init(_ model: TopModel) {
        (self.sent, self.received, self.failed, self.memory) = (model.sent, model.received, model.failed, model.memory)
        self.connections = model.sorted
        self.services = model.services.values.sorted { $0.path < $1.path }
    }
}
