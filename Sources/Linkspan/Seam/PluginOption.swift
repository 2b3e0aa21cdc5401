/// An option that a plug-in understands: declared once, and from then on checked, documented and explained.
public struct PluginOption: Sendable, Hashable {
    /// The name in configuration files: lower camel case.
    package var name: String
    /// The form of the values.
    package var kind: Kind
    /// The value that holds without it, in words or as a value; nil when it must be given.
    package var fallback: String?
    /// One sentence for a person.
    package var summary: String
    /// Whether it must be kept out of files and logs.
    package var isSecret: Bool
    /// The effect of a change on the running parts; nil where the section of the configuration decides.
    package var reload: ChangeEffect?

    /// Declares an option of a type.
    ///
    /// Types are whole numbers, decimals, flags, texts, `Duration` in seconds, enumerations of texts, arrays of texts, and texts by
    /// text.
    ///
    /// - Parameters:
    ///   - name: the name in configuration files: lower camel case.
    ///   - standard: the default; nil when a value is required.
    ///   - range: the numbers or seconds that are accepted; nil for all.
    ///   - isSecret: whether it must be kept out of files and logs.
    ///   - isHot: whether a running service takes a change over; any other change restarts the service. A transport's
    ///     options always move the connection to a new link.
    ///   - summary: one sentence for a person.
    public init<Value: Sendable>(
        _ name: String, default standard: Value?, in range: ClosedRange<Double>? = nil, isSecret: Bool = false,
        isHot: Bool = false, _ summary: String
    ) {
        self.init(
            name, Kind(of: Value.self, in: range), fallback: standard.map { Self.text($0) }, isSecret: isSecret,
            isHot: isHot, summary)
    }

    /// Declares an option of any kind, whose default may be a description.
    package init(
        _ name: String, _ kind: Kind, fallback: String? = nil, isSecret: Bool = false, isHot: Bool = false,
        reload: ChangeEffect? = nil, _ summary: String
    ) {
        self.name = name
        self.kind = kind
        self.fallback = fallback
        self.summary = summary
        self.isSecret = isSecret
        self.reload = isHot ? .hot : reload
    }

    /// The form of an option's values.
    package enum Kind: Sendable, Hashable {
        /// Any text.
        case text
        /// One of these words.
        case choice([String])
        /// A whole number in a range.
        case number(ClosedRange<Int>)
        /// `true` or `false`.
        case flag
        /// A time in seconds, fractions allowed, in a range.
        case seconds(ClosedRange<Double>)
        /// A number in a range, fractions allowed.
        case decimal(ClosedRange<Double>)
        /// A list of texts.
        case list
        /// Texts by text.
        case map
    }
}

/// The options that were given to a plug-in.
///
/// Their maker has checked them against the declarations.
public struct OptionValues: Sendable, Hashable {
    /// The given values by name.
    package var values: [String: OptionValue]

    package init(checked values: [String: OptionValue]) { self.values = values }

    /// Wraps values: texts, whole numbers, decimals, flags, durations, lists of texts and texts by text; empty by default.
    public init(_ values: [String: any Sendable] = [:]) {
        self.init(checked: values.mapValues { OptionValue($0) })
    }

    /// The value of an option, when one was given: a `String` for a text or a choice, an `Int` for a number, a `Bool`
    /// for a flag, a `Duration` for a time, a `Double` for a decimal, `[String]` for a list, `[String: String]` for a map.
    public subscript<Value>(_ name: String) -> Value? { self.values[name]?.plain as? Value }

    /// The value of an option that is a choice, when one was given.
    public subscript<Value: RawRepresentable<String>>(_ name: String) -> Value? {
        (self[name] as String?).flatMap(Value.init(rawValue:))
    }
}

/// The value of an option, checked against its declaration.
package enum OptionValue: Sendable, Hashable {
    case text(String)
    case number(Int)
    case flag(Bool)
    case duration(Duration)
    case decimal(Double)
    case list([String])
    case map([String: String])

    fileprivate init(_ value: any Sendable) {
        switch value {
        case let text as String: self = .text(text)
        case let number as Int: self = .number(number)
        case let flag as Bool: self = .flag(flag)
        case let duration as Duration: self = .duration(duration)
        case let number as Double: self = .decimal(number)
        case let list as [String]: self = .list(list)
        case let map as [String: String]: self = .map(map)
        default: preconditionFailure("no option has values of type \(type(of: value))")
        }
    }

    fileprivate var plain: any Sendable {
        switch self {
        case .text(let text): text
        case .number(let number): number
        case .flag(let flag): flag
        case .duration(let duration): duration
        case .decimal(let number): number
        case .list(let list): list
        case .map(let map): map
        }
    }
}

/// The effect of a change of the configuration on the running parts.
package enum ChangeEffect: Sendable, Hashable {
    /// A service is started.
    case start
    /// A service is stopped.
    case stop
    /// A service is stopped and started, together with the services that need it.
    case restart
    /// A value is taken over while everything runs on.
    case hot
    /// The connection moves to a new link; what waits and who listens stays.
    case reconnect
    /// The change is refused: the program has to be started again.
    case refused
}
