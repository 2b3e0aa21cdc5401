import Linkspan
import LinkspanInMemory
import LinkspanInspector
import LinkspanKit
import LinkspanLifecycle
import LinkspanMessaging
import LinkspanOutbox

extension Catalog {
    /// All transports and services of Linkspan, and services of an app.
    ///
    /// - Parameter services: the app's services, each `NAME` or `NAME:OPTION,OPTION`.
    /// - Returns: the catalog.
    static func app(with services: [String]) -> Self {
        var catalog = Self.standard
        catalog.add(.inMemory(InMemoryHub()))
        catalog.add(.inspector)
        #if OUTBOX
        catalog.add(OutboxFactory.outbox)
        #endif
        for service in services {
            let parts = service.split(separator: ":", maxSplits: 1)
            let options = parts.dropFirst().joined().split(separator: ",")
            let name = String(parts.first ?? "")
            catalog.add(
                ServiceFactory(
                    name, options: options.map { PluginOption(String($0), .text, "An option of the app.") }
                ) { _ in AppService(name: ServiceName(rawValue: name)) })
        }
        return catalog
    }
}

/// The place of a service that only the app can make.
private final class AppService: LifecycleService {
    let name: ServiceName

    init(name: ServiceName) { self.name = name }
}
