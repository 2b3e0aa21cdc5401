public import Linkspan
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
        PresenceService(options: PresenceService.Options(values))
    }
}

extension PresenceService.Options {
    /// The options that configuration has given.
    init(_ values: OptionValues) {
        self.init()
        if let time: Duration = values["awayAfter"] { self.awayAfter = time }
        if let event: String = values["event"] { self.event = event }
    }
}

extension PresenceService: Reconfigurable {
    /// Takes over the times and the name of the event.
    ///
    /// - Parameter options: all of them.
    public func reconfigure(_ options: OptionValues) async {
        self.options = Options(options)
    }
}
