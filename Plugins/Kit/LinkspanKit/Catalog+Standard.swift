internal import LinkspanBrokers
internal import LinkspanServices
internal import LinkspanTelemetry

extension Catalog {
    /// A catalog with the network transports, `socketio` and `websocket`, and the built-in services `logging`, `journal`,
    /// `presence`, `network`, `memory`, `metrics`, `tracing` and, on Apple platforms, `app`.
    ///
    /// Add services and other transports to a copy. Services that need something of the app, such as `tokenrefresh`, and
    /// those with a product of their own, such as `inspector`, are added by the app.
    public static var standard: Self {
        var catalog = Self()
        catalog.add(.socketIO)
        catalog.add(.webSocket(protocols: ["mqtt": .mqtt, "nats": .nats]))
        for service in [ServiceFactory.logging(), .journal, .presence, .networkPath, .memoryPressure] {
            catalog.add(service)
        }
        #if canImport(UIKit) || canImport(AppKit) || canImport(WatchKit)
        catalog.add(.appPhases)
        #endif
        #if Metrics
        catalog.add(.metrics())
        #else
        catalog.add(.absent("metrics", trait: "Metrics"))
        #endif
        #if Tracing
        catalog.add(.tracing())
        #else
        catalog.add(.absent("tracing", trait: "Tracing"))
        #endif
        return catalog
    }
}

#if !Metrics || !Tracing
extension ServiceFactory {
    /// A service that cannot be made in this build.
    fileprivate static func absent(_ name: String, trait: String) -> ServiceFactory {
        let sentence = "the service '\(name)' is not built in: switch the trait \(trait) of the package linkspan on"
        // Any type of service does, because none is made.
        return ServiceFactory(name) { _ throws(LinkspanError) -> JournalService in
            throw LinkspanError(.invalidConfiguration, sentence)
        }
    }
}
#endif
