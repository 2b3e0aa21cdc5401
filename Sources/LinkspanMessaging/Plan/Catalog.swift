public import Linkspan
public import LinkspanLifecycle

/// The transports, the outbox, the services and the keeper's rules that configuration may name.
///
/// A value: no globals, no reflection.
///
/// ```swift
/// var catalog = Catalog()
/// catalog.add(.socketIO)
/// catalog.add(.logging())
/// catalog.add(ServiceFactory("counter") { _ in CounterService() })
/// ```
public struct Catalog: Sendable {
    /// The transports by name.
    package private(set) var transports: [String: TransportFactory] = [:]
    /// The services by name.
    package private(set) var services: [String: ServiceFactory] = [:]
    /// The keeper's rules by name.
    package private(set) var rules: [String: any KeeperRule] = [:]
    /// The store of deliveries, when configuration names one.
    package private(set) var outbox: OutboxFactory?

    /// An empty catalog.
    public init() {}

    /// Adds a transport, or replaces the one of the same name.
    public mutating func add(_ transport: TransportFactory) { self.transports[transport.name] = transport }

    /// Adds a service, or replaces the one of the same name.
    public mutating func add(_ service: ServiceFactory) { self.services[service.name] = service }

    /// Adds a rule of the keeper, or replaces the one of the same name.
    ///
    /// - Parameters:
    ///   - rule: the rule.
    ///   - name: the name by which `connection.keeperRules` lists it.
    public mutating func add(_ rule: some KeeperRule, named name: String) { self.rules[name] = rule }

    /// Adds a durable store of deliveries, the section `outbox`, or replaces the one that there is.
    public mutating func add(_ outbox: OutboxFactory) { self.outbox = outbox }
}

/// Makes a service from options.
public struct ServiceFactory: Sendable {
    /// The name in configuration, and of the service in its registry.
    package let name: String
    /// The options it understands.
    package let options: [PluginOption]
    /// Makes the service.
    package let make: @Sendable (OptionValues) throws(LinkspanError) -> any LifecycleService

    /// Makes a factory.
    ///
    /// - Parameters:
    ///   - name: the name in configuration, lower case letters and digits.
    ///   - options: the options it understands.
    ///   - make: makes the service from checked options; throws code `invalidConfiguration` with a sentence.
    public init(
        _ name: String, options: [PluginOption] = [],
        make: @escaping @Sendable (OptionValues) throws(LinkspanError) -> any LifecycleService
    ) {
        self.name = name
        self.options = options
        self.make = make
    }

    /// Makes a factory whose options are a type: declared, checked and read by its properties, with the defaults that an
    /// instance has.
    ///
    /// ```swift
    /// struct LimiterOptions: Decodable, Sendable {
    ///     var rate = 2.5
    ///     var rooms = ["lobby"]
    ///     var weights: [String: Double] = [:]
    /// }
    /// ```
    ///
    /// ```swift
    /// catalog.add(ServiceFactory("limiter", defaults: LimiterOptions()) { Limiter($0) })
    /// ```
    ///
    /// Whole numbers, decimals, flags, texts, `Duration` in seconds, enumerations of texts, arrays, and dictionaries by text are
    /// understood; other types are read from a text, if they decode themselves from one. The coding keys have to be the names of the
    /// properties.
    ///
    /// - Parameters:
    ///   - name: the name in configuration, lower case letters and digits.
    ///   - defaults: an instance with the defaults.
    ///   - summaries: one sentence for a person about each option.
    ///   - secrets: the options that must be kept out of files and logs.
    ///   - hot: the options whose change a running service takes over, which is ``Reconfigurable`` then and reads them by
    ///     ``/Linkspan/OptionValues/decode(over:)``.
    ///   - make: makes the service; throws code `invalidConfiguration` with a sentence.
    public init<Options: Decodable & Sendable>(
        _ name: String, defaults: Options, summaries: [String: String] = [:], secrets: Set<String> = [],
        hot: Set<String> = [],
        make: @escaping @Sendable (Options) throws(LinkspanError) -> any LifecycleService
    ) {
        self.init(
            name, options: PluginOption.options(of: defaults, summaries: summaries, secrets: secrets, hot: hot)
        ) { values throws(LinkspanError) in
            try make(try values.decode(over: defaults))
        }
    }
}

/// Makes a durable store of deliveries from options.
public struct OutboxFactory: Sendable {
    /// The options it understands.
    package let options: [PluginOption]
    /// Makes the store.
    package let make: @Sendable (OptionValues) throws(LinkspanError) -> any DeliveryStore

    /// Makes a factory.
    ///
    /// - Parameters:
    ///   - options: the options it understands; an outbox is wanted as soon as one of them is given.
    ///   - make: makes the store from checked options; throws code `invalidConfiguration` with a sentence. The same options
    ///     have to give the same store, because a connection keeps its own when the configuration is read again.
    public init(
        options: [PluginOption], make: @escaping @Sendable (OptionValues) throws(LinkspanError) -> any DeliveryStore
    ) {
        self.options = options
        self.make = make
    }
}
