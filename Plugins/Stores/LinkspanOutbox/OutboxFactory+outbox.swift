#if OUTBOX
internal import Linkspan
public import LinkspanMessaging
internal import LinkspanRuntime

extension OutboxFactory {
    /// An ``Outbox``, switched on by `outbox: { path: … }` in a configuration.
    ///
    /// Its options are `path`, the file; `rows` and `bytes`, how much may wait; `maximumAge` in seconds; `outcomes`, how many
    /// are kept until they are confirmed; `received`, how many recorded events are; `countsKeys`; and `waitsWhenInUse`. The same options in the same
    /// catalog are one outbox.
    public static var outbox: OutboxFactory {
        let made = Lock<[OptionValues: Outbox]>([:])
        let path = PluginOption("path", default: String?.none, "The SQLite file of the outbox.")
        return OutboxFactory(options: [path] + OutboxKey.all.map(\.option)) { values throws(LinkspanError) in
            guard let path: String = values["path"] else {
                throw LinkspanError(.invalidConfiguration, "an outbox needs a path")
            }
            return try made.withLock { made throws(LinkspanError) in
                if let outbox = made[values] { return outbox }
                do throws(OutboxError) {
                    try FileNames(path: path).check()
                } catch {
                    throw LinkspanError(.invalidConfiguration, "path \(error.message)", cause: error)
                }
                let outbox = Outbox(path: path) { options in for key in OutboxKey.all { key.set(&options, values) } }
                made[values] = outbox
                return outbox
            }
        }
    }
}

/// A key of `linkspan.outbox`: how it is declared, and which option it sets.
private struct OutboxKey: Sendable {
    let option: PluginOption
    let set: @Sendable (inout OutboxOptions, OptionValues) -> Void

    init<Value: Sendable>(
        _ name: String, _ property: any WritableKeyPath<OutboxOptions, Value> & Sendable,
        in range: ClosedRange<Double>? = nil, _ summary: String
    ) {
        self.option = PluginOption(name, default: OutboxOptions()[keyPath: property], in: range, summary)
        self.set = { if let value: Value = $1[name] { $0[keyPath: property] = value } }
    }

    static let all = [
        Self("rows", \.rows, in: 1...100_000_000, "The number of deliveries that may wait."),
        Self("bytes", \.bytes, in: 1...0x1p40, "The number of their bytes."),
        Self(
            "maximumAge", \.maximumAge, in: 1...315_360_000,
            "The longest time a delivery may wait, over all restarts."),
        Self("outcomes", \.outcomes, in: 0...100_000_000, "The number of outcomes kept until they are confirmed."),
        Self(
            "received", \.received, in: 1...100_000_000,
            "The number of recorded events that may wait to be confirmed."),
        Self(
            "countsKeys", \.countsKeys,
            "Whether generated keys count up, so that a server can remember one for each ordering key."),
        Self(
            "waitsWhenInUse", \.waitsWhenInUse, "Whether calls wait for a file that another process has open."),
    ]
}
#else
public import LinkspanMessaging

extension OutboxFactory {
    /// The outbox, which is not built in.
    @available(*, unavailable, message: "not built in: switch the trait Outbox of the package linkspan on")
    public static var outbox: OutboxFactory { fatalError("not built in") }
}
#endif
