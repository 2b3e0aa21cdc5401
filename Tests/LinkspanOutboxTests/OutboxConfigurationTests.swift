#if OUTBOX && Metrics
internal import Foundation
internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanInMemory
internal import LinkspanMessaging
internal import LinkspanOutbox
internal import TestSupport
internal import Testing

@Suite("Outbox in a configuration")
struct OutboxConfigurationTests {
    private static func loader() -> ConfigurationLoader {
        var catalog = Catalog()
        catalog.add(.inMemory(InMemoryHub()))
        catalog.add(.outbox)
        return ConfigurationLoader(catalog: catalog)
    }

    private static func sources(_ more: [(String, String)]) -> ConfigurationSources {
        let values = [("transport.adapter", "memory"), ("transport.memory.url", "memory://lobby")] + more
        return ConfigurationSources(
            environment: [:], overrides: values.map { Override(path: $0, value: $1, origin: "test") })
    }

    @Test
    func `one line switches the outbox on, and the same line is the same outbox`() throws {
        let loader = Self.loader()
        let first = try loader.load(Self.sources([("outbox.path", "/tmp/outbox.sqlite")]))
        let outbox = try #require(first.plan.options.store as? Outbox)
        #expect(outbox.path == "/tmp/outbox.sqlite")
        let again = try loader.load(Self.sources([("outbox.path", "/tmp/outbox.sqlite")]))
        #expect(again.plan.options.store === outbox)
        #expect(first.difference(to: again).changes.isEmpty)
        #expect(try loader.load(Self.sources([])).plan.options.store == nil)
    }

    @Test
    func `another path is a change that is refused while the program runs`() throws {
        let loader = Self.loader()
        let first = try loader.load(Self.sources([("outbox.path", "/tmp/outbox.sqlite")]))
        let next = try loader.load(Self.sources([("outbox.path", "/tmp/other.sqlite")]))
        #expect(first.difference(to: next).changes.map(\.effect) == [.refused])
    }

    @Test
    func `a path to something else is refused when the configuration is read`() throws {
        let folder = try Folder()
        try Data("# A text that nobody may move".utf8).write(to: URL(fileURLWithPath: folder.outbox))
        let error = #expect(throws: ConfigurationError.self) {
            try Self.loader().load(Self.sources([("outbox.path", folder.outbox), ("outbox.rows", "5")]))
        }
        #expect(error?.problems.map(\.path) == ["linkspan.outbox"])
        #expect(error?.problems.first?.message.contains("is not an outbox") == true)
        #expect(folder.files == ["outbox.sqlite"])
    }

    @Test
    func `an outbox without a path is refused`() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try Self.loader().load(Self.sources([("outbox.rows", "5")]))
        }
        #expect(error?.problems.map(\.path) == ["linkspan.outbox.path"])
    }
}
#endif
