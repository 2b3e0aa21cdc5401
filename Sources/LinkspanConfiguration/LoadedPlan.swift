internal import Linkspan
package import LinkspanLifecycle
public import LinkspanMessaging

/// A checked configuration, ready to run, with the origin of each value.
///
/// Transport and services are made, not started. Services are used up by running them: load again to run again.
public struct LoadedPlan: Sendable {
    /// The plan to run; the app sets its credentials.
    public var plan: MessagingPlan
    /// The name of the chosen transport.
    public let adapter: String
    /// The names of the services, in the order of the plan.
    public let services: [String]
    /// Every declared key in alphabetical order, with its value and origin.
    public let settings: [Setting]
    /// The start order of the services, with reasons.
    package let order: StartOrder
    /// The checked values of the given keys, without the root.
    let values: [String: OptionValue]
    /// Every declared key, without the root.
    let keys: [String: PluginOption]
    /// The content of the file; nil without one.
    var content: FileLook.Content?

    /// Returns the setting of a key with its origin, or nil for an undeclared key; the root `linkspan.` may be left
    /// out.
    public func explain(_ path: String) -> Setting? {
        let full = "linkspan.\(ConfigurationPath.withoutRoot(path))"
        return self.settings.first { $0.path == full }
    }
}

/// A declared key with its value and the value's origin.
public struct Setting: Sendable, Hashable {
    /// The full key, such as `linkspan.transport.adapter`.
    public let path: String
    /// The value as text, redacted for secrets and for queries of URLs; without one, the default in words, or nil.
    public let value: String?
    /// The origin of the value: `file:line`, the variable, the flag, or `default`.
    public let origin: String
    /// The values that lost, the strongest first.
    public let hidden: [Hidden]
    /// The purpose of the key.
    public let summary: String
    /// The form of its values.
    public let expectation: String
    /// The default; nil when a value is required.
    public let fallback: String?
    /// The effect of a change on a running app: `hot`, `reconnect` or `restart`.
    public let reload: String
    /// The environment variable.
    public let variable: String
    /// The command line argument.
    public let flag: String

    /// A value that lost to another.
    public struct Hidden: Sendable, Hashable, Encodable {
        /// The value as text, redacted like ``Setting/value``.
        public let value: String
        /// The origin of the value.
        public let origin: String
    }
}

extension Setting: CustomStringConvertible {
    /// The setting in one line, such as `linkspan.transport.adapter = memory  from --transport; hides socketio in
    /// a.yaml`.
    public var description: String {
        var text = "\(self.path) = \(self.value ?? "(none)")  from \(self.origin)"
        for hidden in self.hidden { text += "; hides \(hidden.value) in \(hidden.origin)" }
        return text
    }
}

extension Setting: Encodable {
    private enum CodingKeys: String, CodingKey {
        case path = "key", value, origin, hidden = "hides", expectation = "takes", fallback, reload, variable, summary
    }
}
