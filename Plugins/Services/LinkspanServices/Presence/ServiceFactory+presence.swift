internal import Linkspan
public import LinkspanMessaging

extension ServiceFactory {
    /// The service `presence`, which announces the user's status to the server; see ``PresenceService``.
    ///
    /// Its options are `awayAfter`, how long the user may do nothing before being away, 300 s by default; and `event`,
    /// the name of the event that announces it, `presence` by default.
    public static let presence = ServiceFactory(
        "presence",
        options: [
            PluginOption(
                "awayAfter", .seconds(1...86_400), fallback: "300", isHot: true,
                "The time without activity after which the user is away."),
            PluginOption(
                "event", .text, fallback: "presence", isHot: true, "The name of the event that announces the status."),
        ]
    ) { values throws(LinkspanError) in
        PresenceService(options: try values.decode(over: PresenceService.Options()))
    } reconfigure: {
        $0.options = try $1.decode(over: PresenceService.Options())
    }
}
