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
        JournalService(options: JournalService.Options(values))
    }
}

extension JournalService.Options {
    /// The options that configuration has given.
    init(_ values: OptionValues) {
        self.init()
        if let capacity: Int = values["capacity"] { self.capacity = capacity }
    }
}

extension JournalService: Reconfigurable {
    /// Takes over the capacity.
    ///
    /// - Parameter options: all of them.
    public func reconfigure(_ options: OptionValues) async {
        self.options = Options(options)
    }
}
