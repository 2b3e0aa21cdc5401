// swift-format-ignore-file
// swift-configuration, which needs more than the package declares: for the self-check of .ci/apple alone.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public struct ConfigReader: Sendable {
    public func string(forKey key: String) -> String? { nil }
}
