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
    /// Gives a running service other options; nil when it has to be restarted for them.
    package let reconfigure: (@Sendable (any LifecycleService, OptionValues) async throws -> Void)?

    /// Makes a factory.
    ///
    /// - Parameters:
    ///   - name: the name in configuration, lower case letters and digits.
    ///   - options: the options it understands.
    ///   - make: makes the service from checked options; throws code `invalidConfiguration` with a sentence.
    ///   - reconfigure: gives the running service all options when one that is declared `isHot` has changed, and throws why it
    ///     cannot take them over. Nil: each change restarts the service.
    public init<Service: LifecycleService>(
        _ name: String, options: [PluginOption] = [],
        make: @escaping @Sendable (OptionValues) throws(LinkspanError) -> Service,
        reconfigure: (@Sendable (Service, OptionValues) async throws -> Void)? = nil
    ) {
        self.name = name
        self.options = options
        self.make = { values throws(LinkspanError) in try make(values) }
        self.reconfigure = reconfigure.map { reconfigure in
            { @Sendable service, options async throws -> Void in
                if let service = service as? Service { try await reconfigure(service, options) }
            }
        }
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
    /// catalog.add(
    ///     ServiceFactory("limiter", defaults: LimiterOptions(), hot: ["rate"]) {
    ///         Limiter($0)
    ///     } reconfigure: { limiter, options in
    ///         await limiter.use(options)
    ///     })
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
    ///   - hot: the options whose change a running service takes over by `reconfigure`; a change of any other restarts it.
    ///   - make: makes the service; throws code `invalidConfiguration` with a sentence.
    ///   - reconfigure: gives the running service all options, the changed and the others. It changes all or nothing, has as
    ///     long as the service may handle an event, and throws why they cannot be taken over: then the whole change of the plan
    ///     is rolled back. Nil: each change restarts the service.
    public init<Options: Decodable & Sendable, Service: LifecycleService>(
        _ name: String, defaults: Options, summaries: [String: String] = [:], secrets: Set<String> = [],
        hot: Set<String> = [],
        make: @escaping @Sendable (Options) throws(LinkspanError) -> Service,
        reconfigure: (@Sendable (Service, Options) async throws -> Void)? = nil
    ) {
        self.init(
            name, options: PluginOption.options(of: defaults, summaries: summaries, secrets: secrets, hot: hot),
            make: { values throws(LinkspanError) in try make(try values.decode(over: defaults)) },
            reconfigure: reconfigure.map { reconfigure in { try await reconfigure($0, try $1.decode(over: defaults)) } }
        )
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
