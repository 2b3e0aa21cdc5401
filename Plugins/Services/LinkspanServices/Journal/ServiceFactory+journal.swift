public import Linkspan
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
    }
}

extension JournalService: Reconfigurable {
    /// Takes over the capacity.
    ///
    /// - Parameter options: all of them.
    /// - Throws: `LinkspanError` with code `invalidConfiguration`.
    public func reconfigure(_ options: OptionValues) async throws {
        self.options = try options.decode(over: Options())
    }
}
