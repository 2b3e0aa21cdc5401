public import Linkspan

/// The meaning of a server's close code for the connection.
public struct CloseMeaning: Sendable, Hashable {
    /// The error that the link ends with; it decides whether the core tries again.
    package let code: LinkspanError.Code

    /// Makes a meaning with another code, for a retry policy that knows it.
    public init(code: LinkspanError.Code) { self.code = code }

    /// Come back: the connection was lost.
    public static let retry = Self(code: .connectionLost)

    /// Come back when the server can serve again.
    public static let retryLater = Self(code: .serverUnavailable)

    /// Stay away: the server is done with us.
    public static let stop = Self(code: .closedByServer)

    /// Stay away: the server does not want us.
    public static let refused = Self(code: .refused)

    /// Have the credentials renewed, once, and come back with them.
    public static let credentialsRefused = Self(code: .credentialsRefused)
}

/// Meanings of a server's close codes that differ from the standard ones.
///
/// ```swift
/// configuration.closeMeanings = [4000...4099: .stop, 4007...4007: .credentialsRefused]
/// configuration.closeMeanings[1001] = .stop
/// ```
///
/// For codes that are not in it: 1008 and 4403 mean ``CloseMeaning/refused``, 4401 ``CloseMeaning/credentialsRefused``,
/// 1012 to 1014 ``CloseMeaning/retryLater``; 1003, 1007 and 1009 refuse a message, 1010 is a violation of the protocol;
/// all others ``CloseMeaning/retry``.
public struct CloseMeanings: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    private struct Rule: Sendable, Hashable {
        var codes: ClosedRange<UInt16>
        /// Nil for the standard one.
        var meaning: CloseMeaning?
    }

    private var rules: [Rule] = []

    /// Makes a table of ranges; of those that overlap the last one holds.
    public init(dictionaryLiteral elements: (ClosedRange<UInt16>, CloseMeaning)...) {
        self.rules = elements.map { Rule(codes: $0.0, meaning: $0.1) }
    }

    /// The meaning of a code; nil for the standard one.
    public subscript(code: UInt16) -> CloseMeaning? {
        get { self.rules.last { $0.codes.contains(code) }?.meaning }
        set { self.set(newValue, for: code...code) }
    }

    /// Sets the meaning of all codes of a range; nil restores the standard ones.
    package mutating func set(_ meaning: CloseMeaning?, for codes: ClosedRange<UInt16>) {
        self.rules.removeAll { codes.contains($0.codes) }
        guard meaning != nil || self.rules.contains(where: { $0.codes.overlaps(codes) }) else { return }
        self.rules.append(Rule(codes: codes, meaning: meaning))
    }
}

extension CloseMeanings {
    /// The rules, for comparing and explaining.
    package var text: String {
        let texts = self.rules.map { rule in
            "\(rule.codes.lowerBound)-\(rule.codes.upperBound)=\(rule.meaning?.code.rawValue ?? "as usual")"
        }
        return texts.isEmpty ? "as usual" : texts.joined(separator: ",")
    }
}
