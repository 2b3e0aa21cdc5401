internal import Linkspan
public import LinkspanMessaging

extension ServiceFactory {
    /// The service `journal`, which keeps the latest lifecycle events for bug reports; see ``JournalService``.
    ///
    /// Its option is `capacity`, how many entries are kept, 256 by default.
    public static let journal = ServiceFactory(
        "journal",
        options: [
            PluginOption(
                "capacity", .number(1...100_000), fallback: "256", isHot: true,
                "The number of latest events kept.")
        ]
    ) { values throws(LinkspanError) in
        JournalService(options: try values.decode(over: JournalService.Options()))
    } reconfigure: {
        $0.options = try $1.decode(over: JournalService.Options())
    }
}
