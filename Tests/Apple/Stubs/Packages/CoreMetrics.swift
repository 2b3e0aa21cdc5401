// swift-format-ignore-file
// swift-metrics.
public protocol MetricsFactory: Sendable {}
public enum MetricsSystem {
    public static var factory: any MetricsFactory { fatalError() }
}
public final class Counter: Sendable {
    public init(label: String, dimensions: [(String, String)] = [], factory: any MetricsFactory) {}
    public func increment(by amount: some BinaryInteger) {}
    public func increment() {}
}
public final class Gauge: Sendable {
    public init(label: String, dimensions: [(String, String)] = [], factory: any MetricsFactory) {}
    public func record(_ value: some BinaryInteger) {}
    public func record(_ value: some BinaryFloatingPoint) {}
}
public final class Timer: Sendable {
    public init(label: String, dimensions: [(String, String)] = [], factory: any MetricsFactory) {}
    public func recordNanoseconds(_ duration: Int64) {}
}
