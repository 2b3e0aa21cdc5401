internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanServices
internal import ServiceFixtures
internal import Testing

@Suite("The platform's sources by configuration")
struct SwitchTests {
    @Test(arguments: [ServiceFactory.networkPath, .memoryPressure])
    func `a source is made when its name is listed, and not otherwise`(factory: ServiceFactory) throws {
        #expect(try services(factory, nil).isEmpty)
        #expect(try services(factory, "enabled: [\(factory.name)]").map(\.name.rawValue) == [factory.name])
    }
}
