import LinkspanTerminal

/// A screen of `linkspan top` as JSON.
struct TopReport: Encodable {
    /// A service of the program.
    struct Service: Encodable {
        var path: String
        var state: String
        var lost: Int
    }

    var sent: Int
    var received: Int
    var failed: Int
    /// Bytes.
    var memory: Int
    var connections: [TopModel.Row]
    var services: [Service]

    init(_ model: TopModel) {
        (self.sent, self.received, self.failed, self.memory) = (model.sent, model.received, model.failed, model.memory)
        self.connections = model.sorted
        self.services = model.services.keys.sorted().map { path in
            let service = model.services[path] ?? ("", 0)
            return Service(path: path, state: service.state, lost: service.lost)
        }
    }
}
