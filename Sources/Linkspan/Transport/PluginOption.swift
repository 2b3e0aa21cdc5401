/// An option that a plug-in understands: declared once, and from then on checked, documented and explained.
public struct PluginOption: Sendable, Hashable {
    /// The name in configuration files: lower camel case.
    package var name: String
    /// What values look like.
    package var kind: Kind
    /// What happens without it, in words or as a value; nil when it must be given.
    package var fallback: String?
    /// One sentence for a person.
    package var summary: String
    /// Whether it must be kept out of files and logs.
    package var isSecret: Bool
    /// What a change of the value does to what runs.
    ///
    /// Counts for services, whose options restart them unless they are ``ReloadClass/hot``. A transport's always
    /// reconnect.
    package var reload: ReloadClass?

    /// Declares an option.
    public init(
        _ name: String, _ kind: Kind, fallback: String? = nil, isSecret: Bool = false, reload: ReloadClass? = nil,
        _ summary: String
    ) {
        self.name = name
        self.kind = kind
        self.fallback = fallback
        self.summary = summary
        self.isSecret = isSecret
        self.reload = reload
    }

    /// What the values of an option look like.
    public enum Kind: Sendable, Hashable {
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
        /// A list of texts.
        case list
    }
}

/// The value of an option, checked against its declaration.
public enum OptionValue: Sendable, Hashable {
    /// A text or a choice.
    case text(String)
    /// A whole number.
    case number(Int)
    /// A flag.
    case flag(Bool)
    /// A time.
    case duration(Duration)
    /// A list.
    case list([String])
}

/// The options that were given to a plug-in.
///
/// Whoever makes them has checked them against the declarations.
public struct OptionValues: Sendable, Hashable {
    /// The given values by name.
    package var values: [String: OptionValue]

    /// Wraps values; none were given by default.
    public init(_ values: [String: OptionValue] = [:]) { self.values = values }

    /// A text or a choice, when given.
    public func text(_ name: String) -> String? {
        if case .text(let value) = self.values[name] { value } else { nil }
    }

    /// A whole number, when given.
    public func number(_ name: String) -> Int? {
        if case .number(let value) = self.values[name] { value } else { nil }
    }

    /// A flag, when given.
    public func flag(_ name: String) -> Bool? {
        if case .flag(let value) = self.values[name] { value } else { nil }
    }

    /// A time, when given.
    public func duration(_ name: String) -> Duration? {
        if case .duration(let value) = self.values[name] { value } else { nil }
    }

    /// A list, when given.
    public func list(_ name: String) -> [String]? {
        if case .list(let value) = self.values[name] { value } else { nil }
    }
}

/// What a changed option does to what runs.
public enum ReloadClass: Sendable, Hashable {
    /// It is taken over while everything runs on.
    case hot
    /// The connection moves to a new link; what waits and who listens stays.
    case reconnect
    /// The service is stopped and started, and with it whoever needs it.
    case restart
}
