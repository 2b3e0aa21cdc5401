internal import Linkspan
internal import LinkspanLifecycle
public import LinkspanMessaging

extension ServiceFactory {
    /// The service `network`, which reports the network path to the registry, and so to the keeper.
    public static let networkPath = ServiceFactory("network") { _ throws(LinkspanError) in
        NetworkPathSource().service(named: "network")
    }

    /// The service `memory`, which reports memory pressure to the registry.
    public static let memoryPressure = ServiceFactory("memory") { _ throws(LinkspanError) in
        MemoryPressureSource().service(named: "memory")
    }

    #if canImport(UIKit) || canImport(AppKit) || canImport(WatchKit)
    /// The service `app`, which reports the app's phases to the registry, and so to the keeper.
    public static let appPhases = ServiceFactory("app") { _ throws(LinkspanError) in
        AppPhaseSource().service(named: "app")
    }
    #endif

    /// The service `appevents`, which forwards events of an app's delegate to the other services.
    ///
    /// - Parameter forwarder: the forwarder of the delegate.
    /// - Returns: the factory.
    public static func appEvents(_ forwarder: AppForwarder) -> ServiceFactory {
        ServiceFactory("appevents") { _ throws(LinkspanError) in forwarder }
    }

    /// The service `backgroundtime`, which asks for time while commands wait; see ``BackgroundTimeService``.
    ///
    /// Its option is `limit`, the longest time to ask for, 25 s by default.
    @available(iOSApplicationExtension, unavailable)
    @available(tvOSApplicationExtension, unavailable)
    @available(visionOSApplicationExtension, unavailable)
    public static var backgroundTime: ServiceFactory {
        ServiceFactory(
            "backgroundtime",
            options: [
                PluginOption(
                    "limit", .seconds(1...600), fallback: "25",
                    "The longest time that the system is asked for in the background.")
            ]
        ) { values throws(LinkspanError) in
            BackgroundTimeService(limit: values["limit"] ?? .seconds(25))
        }
    }
}
