#if Metrics && Tracing && ServiceLifecycle && OUTBOX && Encryption && (canImport(Combine) || OpenCombine)
internal import Foundation
internal import LinkspanKit
internal import LinkspanInspector
internal import LinkspanServices
internal import LinkspanTelemetry
internal import LinkspanOutbox
internal import Testing

/// The configurations that articles show.
@Suite("Configurations in articles")
struct ArticleConfigurationTests {
    private final class NamedService: LifecycleService {
        let name: ServiceName

        init(_ name: ServiceName) { self.name = name }
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        .standardized

    /// The built-in transports and services, and those of the examples.
    private static func catalog() -> Catalog {
        var catalog = Catalog.standard
        catalog.add(.inMemory(InMemoryHub()))
        catalog.add(.inspector)
        catalog.add(.tokenRefresh(TokenSource { _ in Credentials() }))
        catalog.add(.outbox)
        for name in ["counter", "rooms"] {
            catalog.add(ServiceFactory(name) { _ in NamedService(ServiceName(rawValue: name)) })
        }
        catalog.add(ServiceFactory("limiter", defaults: LimiterOptions()) { Limiter($0) })
        return catalog
    }

    private static func pages() throws -> [(name: String, blocks: [String])] {
        try ["Sources", "Plugins"].flatMap { folder in
            let files = FileManager.default.enumerator(
                at: Self.root.appending(path: folder), includingPropertiesForKeys: nil)
            return try #require(files).compactMap { $0 as? URL }
                .filter { $0.path.contains(".docc/") && $0.pathExtension == "md" }
                .map { page in
                    let text = try String(contentsOf: page, encoding: .utf8)
                    let blocks = text.components(separatedBy: "```yaml\n").dropFirst()
                        .compactMap { $0.components(separatedBy: "\n```").first }
                    return (page.lastPathComponent, blocks)
                }
        }
    }

    @Test
    func `each YAML block of an article is a valid configuration`() throws {
        let loader = ConfigurationLoader(catalog: Self.catalog())
        let file = FileManager.default.temporaryDirectory.appending(path: "article-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        var count = 0
        for (page, blocks) in try Self.pages() {
            for block in blocks {
                count += 1
                try block.write(to: file, atomically: true, encoding: .utf8)
                // A block about services alone names no transport.
                let defaults = [
                    Override(path: "transport.adapter", value: "memory", origin: "test"),
                    Override(path: "transport.memory.url", value: "memory://lobby", origin: "test"),
                ]
                do {
                    _ = try loader.load(file: file.path, environment: [:], defaults: defaults)
                } catch {
                    Issue.record("\(page): \(error)")
                }
            }
        }
        #expect(count >= 5)
    }
}
#endif
