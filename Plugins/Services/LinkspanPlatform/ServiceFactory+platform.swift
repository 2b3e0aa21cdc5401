internal import Linkspan
internal import LinkspanLifecycle
public import LinkspanMessaging

extension ServiceFactory {
    /// The service `network`, which reports the network path to the registry, and so to the keeper.
    public static let networkPath = ServiceFactory("network") { _ throws(LinkspanError) in
        SourceService("network", NetworkPathSource())
    }

    /// The service `memory`, which reports memory pressure to the registry.
    public static let memoryPressure = ServiceFactory("memory") { _ throws(LinkspanError) in
        SourceService("memory", MemoryPressureSource())
    }

    #if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
    /// The service `app`, which reports the app's phases to the registry, and so to the keeper.
    public static let appPhases = ServiceFactory("app") { _ throws(LinkspanError) in
        SourceService("app", AppPhaseSource())
    }
    #endif
}
