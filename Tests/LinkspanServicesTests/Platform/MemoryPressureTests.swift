internal import Foundation
internal import LinkspanLifecycle
internal import Testing

@testable internal import LinkspanServices

#if os(Linux)
@Suite("Memory pressure", .timeLimit(.minutes(1)))
struct MemoryPressureTests {
    private func stalls(some: Double, full: Double) -> String {
        "some avg10=\(some) avg60=0.00 avg300=0.00 total=12\nfull avg10=\(full) avg60=0.00 avg300=0.00 total=7\n"
    }

    @Test
    func `a level begins at its mark, ends well below it, and is reported once`() {
        var gauge = MemoryPressureGauge()
        let steps: [(some: Double, full: Double, level: PressureEvent.Level?)] = [
            (0, 0, nil), (9.9, 0, nil), (10, 0, .warning), (40, 9, nil), (40, 10, .critical), (40, 6, nil),
            (40, 4.9, .warning), (6, 0, nil), (4.9, 0, .normal), (0, 0, nil),
        ]
        for step in steps {
            let level = gauge.read(self.stalls(some: step.some, full: step.full))
            #expect(level == step.level, "at \(step)")
        }
    }

    @Test(arguments: ["", "some", "some avg10=", "some avg10=nan", "full avg10=1e999", "\0"])
    func `an unreadable figure is no pressure`(text: String) {
        var gauge = MemoryPressureGauge()
        let level = gauge.read(text)
        #expect(level == nil)
        #expect(MemoryPressureGauge.available(text) == nil)
        #expect(MemoryPressureGauge.available("MemAvailable:   1024 kB\n") == 1_048_576)
        #expect(MemoryPressureGauge.available("MemAvailable: many kB\n") == nil)
    }

    @Test
    func `a service gets it through the registry when the file changes`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (pressure, memory) = (folder.appendingPathComponent("pressure"), folder.appendingPathComponent("meminfo"))
        try Data(self.stalls(some: 50, full: 0).utf8).write(to: pressure, options: .atomic)
        try Data("MemTotal: 8 kB\nMemAvailable: 4 kB\n".utf8).write(to: memory)
        let source = MemoryPressureSource(
            files: [folder.path + "/none", pressure.path], available: memory.path, period: .milliseconds(10))
        let (events, heard) = AsyncStream.makeStream(of: PressureEvent.self)
        let running = Task { try await source.run { heard.yield($0) } }
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == .memory(.warning, available: 4_096))
        try Data(self.stalls(some: 50, full: 50).utf8).write(to: pressure, options: .atomic)
        #expect(await iterator.next() == .memory(.critical, available: 4_096))
        try Data(self.stalls(some: 0, full: 0).utf8).write(to: pressure, options: .atomic)
        #expect(await iterator.next() == .memory(.normal, available: 4_096))
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
    }

    @Test(
        .enabled(if: FileManager.default.isReadableFile(atPath: "/proc/pressure/memory"), "a kernel that counts stalls")
    )
    func `the kernel's own figures can be read`() async throws {
        let running = Task { try await MemoryPressureSource(period: .milliseconds(1)).run { _ in } }
        running.cancel()
        // Anything else means that there are no figures.
        await #expect(throws: CancellationError.self) { try await running.value }
    }
}
#endif
