public import LinkspanLifecycle

#if canImport(Darwin)
private import Dispatch

/// A source of memory pressure, as the system reports it for the whole device.
public struct MemoryPressureSource: EventSource {
    /// Makes a source.
    public init() {}

    /// Hands on each change until the task is cancelled.
    public func run(_ emit: @escaping @Sendable (PressureEvent) -> Void) async throws {
        let source = DispatchSource.makeMemoryPressureSource(eventMask: [.normal, .warning, .critical])
        source.setEventHandler {
            let level: PressureEvent.Level =
                source.data.contains(.critical) ? .critical : source.data.contains(.warning) ? .warning : .normal
            emit(.memory(level, available: nil))
        }
        source.activate()
        await untilCancelled()
        source.cancel()
    }
}
#else
private import Foundation

/// A source of memory pressure, from the time that tasks have stalled for memory, as the kernel counts it
/// ([Documentation/accounting/psi.rst](https://docs.kernel.org/accounting/psi.html)).
///
/// The figures of the process's own control group count where there are any, those of the machine otherwise. They are
/// read every so often, because a trigger of the kernel's needs rights that an app rarely has.
public struct MemoryPressureSource: EventSource {
    private let files: [String]
    private let available: String
    private let period: Duration

    /// Makes a source.
    ///
    /// - Parameter period: how often to look; the kernel's averages are over 10 s.
    public init(period: Duration = .seconds(2)) {
        var files = ["/proc/pressure/memory"]
        if let group = ControlGroup.ownFolder { files.insert("\(group)/memory.pressure", at: 0) }
        self.init(files: files, available: "/proc/meminfo", period: period)
    }

    /// Makes a source that reads the first of some files that can be read.
    init(files: [String], available: String, period: Duration) {
        self.files = files
        self.available = available
        self.period = period
    }

    /// Emits each change of the level until the task is cancelled.
    ///
    /// - Parameter emit: gets `memory` events; the first only when memory is short.
    /// - Throws: `CocoaError` when the kernel does not count stalls (built or booted without PSI); `CancellationError`.
    public func run(_ emit: @escaping @Sendable (PressureEvent) -> Void) async throws {
        var gauge = MemoryPressureGauge()
        while true {
            if let level = gauge.read(try self.text()) {
                let available = (try? String(contentsOfFile: self.available, encoding: .utf8))
                    .flatMap(MemoryPressureGauge.available)
                emit(.memory(level, available: available))
            }
            try await Task.sleep(for: self.period)
        }
    }

    private func text() throws -> String {
        for file in self.files.dropLast() {
            if let text = try? String(contentsOfFile: file, encoding: .utf8) { return text }
        }
        return try String(contentsOfFile: self.files.last ?? "", encoding: .utf8)
    }
}

/// The kernel's files about the processes that are counted together with this one.
private enum ControlGroup {
    /// The folder of the process's own control group of version 2; nil if it is in none but the root.
    static var ownFolder: String? {
        let lines = (try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8))?.split(separator: "\n") ?? []
        guard let path = lines.first(where: { $0.hasPrefix("0::/") })?.dropFirst(3), path != "/" else { return nil }
        return "/sys/fs/cgroup\(path)"
    }
}
#endif
