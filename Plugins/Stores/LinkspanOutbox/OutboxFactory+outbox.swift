#if OUTBOX
internal import Linkspan
public import LinkspanMessaging
internal import LinkspanRuntime

extension OutboxFactory {
    /// An ``Outbox``, switched on by `outbox: { path: … }` in a configuration.
    ///
    /// Its options are `path`, the file; `rows` and `bytes`, how much may wait; `maximumAge` in seconds; `outcomes`, how many
    /// are kept until they are confirmed; `received`, how many recorded events are; `countsKeys`; and `whenInUse`, `fail` or `wait`, for a file that another process has open. The
    /// same options in the same catalog are one outbox.
    public static var outbox: OutboxFactory {
        let made = Lock<[OptionValues: Outbox]>([:])
        return OutboxFactory(options: OutboxOptions.declared) { values throws(LinkspanError) in
            guard let path: String = values["path"] else {
                throw LinkspanError(.invalidConfiguration, "an outbox needs a path")
            }
            return made.withLock { made in
                if let outbox = made[values] { return outbox }
                let outbox = Outbox(path: path) { $0.take(values) }
                made[values] = outbox
                return outbox
            }
        }
    }
}

extension OutboxOptions {
    fileprivate static var declared: [PluginOption] {
        let standard = OutboxOptions()
        return [
            PluginOption("path", .text, "The SQLite file of the outbox."),
            PluginOption(
                "rows", .number(1...100_000_000), fallback: "\(standard.rows)",
                "The number of deliveries that may wait."),
            PluginOption(
                "bytes", .number(1...Int(clamping: Int64(1) << 40)), fallback: "\(standard.bytes)",
                "The number of their bytes."),
            PluginOption(
                "maximumAge", .seconds(1...315_360_000), fallback: "\(standard.maximumAge.components.seconds)",
                "The longest time a delivery may wait, over all restarts."),
            PluginOption(
                "outcomes", .number(0...100_000_000), fallback: "\(standard.outcomes)",
                "The number of outcomes kept until they are confirmed."),
            PluginOption(
                "received", .number(1...100_000_000), fallback: "\(standard.received)",
                "The number of recorded events that may wait to be confirmed."),
            PluginOption(
                "countsKeys", .flag, fallback: "\(standard.countsKeys)",
                "Whether generated keys count up, so that a server can remember one for each ordering key."),
            PluginOption(
                "whenInUse", .choice(Contention.allCases.map(\.rawValue)), fallback: standard.whenInUse.rawValue,
                "The rule for a file that another process has open."),
        ]
    }

    fileprivate mutating func take(_ values: OptionValues) {
        if let rows: Int = values["rows"] { self.rows = rows }
        if let bytes: Int = values["bytes"] { self.bytes = bytes }
        if let age: Duration = values["maximumAge"] { self.maximumAge = age }
        if let outcomes: Int = values["outcomes"] { self.outcomes = outcomes }
        if let received: Int = values["received"] { self.received = received }
        if let countsKeys: Bool = values["countsKeys"] { self.countsKeys = countsKeys }
        if let contention: Contention = values["whenInUse"] { self.whenInUse = contention }
    }
}
#else
public import LinkspanMessaging

extension OutboxFactory {
    /// The outbox, which is not built in.
    @available(*, unavailable, message: "not built in: switch the trait Outbox of the package linkspan on")
    public static var outbox: OutboxFactory { fatalError("not built in") }
}
#endif
