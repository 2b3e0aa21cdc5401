public import Linkspan
public import LinkspanLifecycle

/// A service together with its registration settings.
public struct PlannedService: Sendable {
    /// The service, not started.
    package let service: any LifecycleService
    /// Overrides of the service's name, place, limits and importance.
    package var settings: ServiceSettings
    /// The options that it was made from.
    package let options: OptionValues
    /// Makes it again; nil for a service that was made in code.
    package let factory: ServiceFactory?

    /// Plans a service that was made in code.
    ///
    /// Such a service is started again as the same object when a change of the plan is rolled back.
    public init(_ service: any LifecycleService, settings: ServiceSettings = ServiceSettings()) {
        self.service = service
        self.settings = settings
        self.options = OptionValues()
        self.factory = nil
    }

    /// Makes a service by its factory, under the factory's name unless `settings` has another.
    ///
    /// - Parameters:
    ///   - factory: makes the service, and makes it again when a change of the plan is rolled back.
    ///   - options: the values, checked against the factory's declarations.
    ///   - settings: overrides of the service's defaults.
    /// - Throws: the error of the factory.
    public init(
        _ factory: ServiceFactory, options: OptionValues = OptionValues(), settings: ServiceSettings = ServiceSettings()
    ) throws(LinkspanError) {
        self.service = try factory.make(options)
        self.settings = settings
        if self.settings.name == nil { self.settings.name = ServiceName(rawValue: factory.name) }
        self.options = options
        self.factory = factory
    }

    /// The name in the registry.
    package var name: ServiceName { self.settings.name ?? self.service.name }

    /// The same, to be started once more.
    func renewed() throws(LinkspanError) -> Self {
        guard let factory = self.factory else { return self }
        return try Self(factory, options: self.options, settings: self.settings)
    }
}
