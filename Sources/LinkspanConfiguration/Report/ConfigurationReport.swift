private import Foundation
internal import Linkspan

/// What a command such as `config check`, `config plan` or `config explain KEY` prints: what a configuration says, without
/// starting anything.
///
/// An app offers it in its own command line, whatever parses that:
///
/// ```swift
/// let report = ConfigurationReport.explain("connection", in: sources, by: loader)
/// for line in report.lines + report.problems { print(line) }
/// ```
///
/// Texts of the sources are escaped, so that a terminal can show them, and secrets are redacted.
public struct ConfigurationReport: Sendable {
    /// The answer for a person, line by line; empty when there are problems.
    public let lines: [String]
    /// The answer for a program, problems included: one JSON value in one line.
    public let json: String
    /// The problems because of which there is no answer, line by line.
    public let problems: [String]

    private init(_ lines: [String], _ answer: some Encodable, problems: [String] = []) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Reports are made of texts, lists and objects.
        let json = (try? encoder.encode(answer)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
        self.lines = lines.map { ForeignText.shown($0, limit: .max) }
        self.json = ForeignText.shown(json, limit: .max)
        self.problems = problems.map { ForeignText.shown($0) }
    }

    private init(_ error: ConfigurationError) {
        let lines = error.description.split(separator: "\n").map(String.init)
        self.init([], ["problems": error.problems], problems: lines)
    }

    /// Reports on the plan of a configuration, or on all problems in it.
    private static func load(
        _ sources: ConfigurationSources, _ loader: ConfigurationLoader, _ report: (LoadedPlan) -> Self
    ) -> Self {
        do throws(ConfigurationError) {
            return report(try loader.load(sources))
        } catch {
            return Self(error)
        }
    }
}

extension ConfigurationReport {
    /// Reports the plan in one line, or all problems.
    public static func check(_ sources: ConfigurationSources, by loader: ConfigurationLoader) -> Self {
        self.load(sources, loader) { plan in
            Self(["valid: \(PlanReport(plan).summary)"], ["problems": [ConfigurationProblem]()])
        }
    }

    /// Reports transport, endpoint, options that differ from their defaults, and the services in the order of start, each
    /// with its origin.
    public static func plan(_ sources: ConfigurationSources, by loader: ConfigurationLoader) -> Self {
        self.load(sources, loader) { plan in
            let report = PlanReport(plan)
            return Self(report.lines, report)
        }
    }

    /// Reports the value of a key, its origin, the values that it hides, the form of its values and the effect of a change.
    ///
    /// - Parameters:
    ///   - key: the key, such as `transport.adapter`, or a section, such as `connection`, for each of its keys; the root
    ///     `linkspan.` may be left out.
    ///   - sources: where to look.
    ///   - loader: the loader with the app's transports and services.
    /// - Returns: the report; an unknown key is a problem.
    public static func explain(
        _ key: String, in sources: ConfigurationSources, by loader: ConfigurationLoader
    ) -> Self {
        self.load(sources, loader) { plan in
            if let setting = plan.explain(key) { return Self(setting.report, setting) }
            let section = plan.settings(in: key)
            guard section.isEmpty else {
                return Self(section.map { "\($0)" }, section)
            }
            let problem = loader.diagnose(key) ?? ConfigurationProblem(.unknownName, key, "unknown key")
            return Self([], ["problems": [problem]], problems: ["\(problem)"])
        }
    }
}
