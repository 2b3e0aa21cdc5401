import Linkspan
import LinkspanLifecycle
import LinkspanMessaging

/// Preferences of a terminal's user: the options of the service `interface`.
struct InterfaceSettings: Hashable, Sendable {
    /// Whether lines have the time in front.
    var showsTimes = true
    /// Whether the bell rings at a mention and a private message.
    var hasBell = true
    /// Whether the wheel scrolls; then text is selected with Shift.
    var hasMouse = true
}

/// The service `interface`, which holds the preferences of configuration.
final class InterfaceService: LifecycleService {
    let name: ServiceName = "interface"
    let settings: InterfaceSettings

    init(_ settings: InterfaceSettings) { self.settings = settings }
}

extension ServiceFactory {
    /// The service `interface`: options `times`, `bell` and `mouse`.
    static let interface = ServiceFactory(
        "interface",
        options: [
            PluginOption("times", default: true, "Whether lines have the time in front."),
            PluginOption("bell", default: true, "Whether the bell rings at a mention or a private message."),
            PluginOption("mouse", default: true, "Whether the wheel scrolls; Shift then selects text."),
        ]
    ) { values in
        var settings = InterfaceSettings()
        if let times: Bool = values["times"] { settings.showsTimes = times }
        if let bell: Bool = values["bell"] { settings.hasBell = bell }
        if let mouse: Bool = values["mouse"] { settings.hasMouse = mouse }
        return InterfaceService(settings)
    }
}
