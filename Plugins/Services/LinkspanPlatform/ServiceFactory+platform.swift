internal import Linkspan
internal import LinkspanLifecycle
public import LinkspanMessaging

extension ServiceFactory {
    /// The service `network`, which tells the registry, and so the keeper, how traffic can leave the machine.
    public static let networkPath = ServiceFactory("network") { _ throws(LinkspanError) in
        SourceService("network", NetworkPathSource())
    }

    /// The service `memory`, which tells the registry when memory is short.
    public static let memoryPressure = ServiceFactory("memory") { _ throws(LinkspanError) in
        SourceService("memory", MemoryPressureSource())
    }

    #if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
    /// The service `app`, which tells the registry, and so the keeper, of the app's phases.
    public static let appPhases = ServiceFactory("app") { _ throws(LinkspanError) in
        SourceService("app", AppPhaseSource())
    }
    #endif
}
