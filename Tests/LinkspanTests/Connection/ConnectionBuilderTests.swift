@testable import Linkspan
internal import LinkspanTesting
internal import Testing

@Suite("The builder")
struct ConnectionBuilderTests {
    private let transport = ScriptedTransport(scheduler: VirtualScheduler())

    @Test(arguments: ["", "server", "https//server", "scripted://us er", "scripted://user:pass@server"])
    func `a URL that cannot be used is refused before anything is made`(url: String) {
        let error = #expect(throws: LinkspanError.self) { try ConnectionBuilder(url).transport(self.transport).build() }
        #expect(error?.code == .invalidURL)
    }

    @Test
    func `an unsupported scheme is refused, with the supported ones`() {
        let error = #expect(throws: LinkspanError.self) {
            try ConnectionBuilder("https://server").transport(self.transport).build()
        }
        #expect(error?.code == .invalidURL)
        #expect(error?.message.contains("'https'") == true)
        #expect(error?.message.contains("scripted") == true)
    }

    @Test(
        arguments: [
            { $0.buffer.commands = 0 }, { $0.buffer.bytes = -1 }, { $0.deliveries.commands = 0 },
            { $0.deliveries.bytes = 0 }, { $0.openDeadline = .zero }, { $0.credentialDeadline = .seconds(-1) },
            { $0.idleTimeout = .seconds(-1) }, { $0.healthyAfter = .seconds(-1) },
        ] as [@Sendable (inout ConnectionOptions) -> Void])
    func `an option that cannot work is refused`(change: @Sendable (inout ConnectionOptions) -> Void) {
        let error = #expect(throws: LinkspanError.self) {
            try ConnectionBuilder("scripted://server").transport(self.transport).options(change).build()
        }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test
    func `steps do not change the builder they were taken from`() throws {
        let base = ConnectionBuilder("scripted://server").transport(self.transport)
        let changed = base.options { $0.idleTimeout = .seconds(1) }.options { $0.openDeadline = .seconds(2) }
        #expect(try base.build().options.idleTimeout == .seconds(5))
        #expect(try changed.build().options.idleTimeout == .seconds(1))
        #expect(try changed.build().options.openDeadline == .seconds(2))
    }
}
