import LinkspanKit
import LinkspanRuntime

/// A transport of a third party: another one, whose links are counted.
struct CountedTransport: Transport {
    let name = "counted"
    let inner: any Transport
    let count: @Sendable () -> Void

    var executor: any JobExecutor { self.inner.executor }
    var schemes: Set<String> { self.inner.schemes }
    var options: [String: String] { self.inner.options }

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        self.count()
        return self.inner.makeLink(request, receiver: receiver)
    }
}

/// Starts what a file chooses: one of the SDK's transports or the third party's, and the service.
func startCounted(
    file: String, hub: InMemoryHub, count: @escaping @Sendable () -> Void
) async throws -> Messaging {
    var catalog = Catalog.standard
    catalog.add(.inMemory(hub))
    catalog.add(.slowReplies)
    catalog.add(
        TransportFactory("counted", schemes: ["memory"]) { _ in CountedTransport(inner: .inMemory(hub), count: count) })
    return try await Messaging.start(ConfigurationLoader(catalog: catalog).load(file: file).plan)
}
