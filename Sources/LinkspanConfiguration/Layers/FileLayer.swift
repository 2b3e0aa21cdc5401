#if YAML
internal import Linkspan
internal import LinkspanLifecycle
internal import Yams

/// Reads a YAML file, or a JSON file, which is YAML too.
struct FileLayer {
    /// A key of a section with its value.
    private struct Member {
        var name: String
        var line: Int
        var value: Node
    }

    private let name: String
    private let schema: Schema
    private var layer = Layer(exposure: .file)
    /// The line of each key, to detect one that is given both with dots and in a section.
    private var lines: [String: Int] = [:]

    /// The values of a file and its problems.
    static func read(_ path: String, _ schema: Schema, _ content: FileLook.Content) -> Layer {
        var reader = Self(name: Wording.shown(path, limit: 300), schema: schema)
        switch content {
        case .text(let text): reader.read(text, path)
        case .failure(let reason): reader.fail(.unreadableFile, "cannot be read: \(reason)")
        }
        return reader.layer
    }

    private mutating func fail(_ code: ConfigurationProblem.Code, at mark: Mark? = nil, _ message: String) {
        self.layer.isBroken = true
        let position = mark.map { ":\($0)" } ?? ""
        self.layer.problems.append(ConfigurationProblem(code, self.name + position, message))
    }

    private mutating func report(_ code: ConfigurationProblem.Code, _ path: String, _ message: String, line: Int) {
        self.layer.problems.add(code, path, message, origin: "\(self.name):\(line)")
    }

    private mutating func read(_ text: FileText, _ path: String) {
        let ending = path.lowercased()
        guard [".yaml", ".yml", ".json"].contains(where: { ending.hasSuffix($0) }) else {
            return self.fail(.unreadableFile, "cannot be read: its name does not end in .yaml, .yml or .json")
        }
        if let violation = NestingLimit.violation(in: text.bytes) {
            return self.fail(.syntax, "cannot be read: \(violation)")
        }
        do {
            let yaml = ending.hasSuffix(".json") ? text.withoutSurrogates : text.text
            guard let root = try Yams.compose(yaml: yaml, .basic, .default, .utf8), !text.isEmpty else { return }
            guard case .mapping(let file) = root else {
                return self.fail(
                    .syntax, "expected a section '\(ConfigurationPath.root)' at the top, found a list or a value")
            }
            let members = self.members(of: file)
            for member in members { self.takeRoot(member) }
            if !members.contains(where: { Self.isRoot($0) }) { self.refuseSections(among: members) }
        } catch {
            let finding = (error as? YamlError)?.finding
            self.fail(finding?.code ?? .syntax, at: finding?.mark, finding?.message ?? "is not well-formed")
        }
    }
}

// MARK: - Sections

extension FileLayer {
    /// The file may have sections of other tools, but `linkspam:` is a typing error.
    private mutating func takeRoot(_ member: Member) {
        let name = ConfigurationPath.components(member.name)[0]
        if Self.isRoot(member) {
            self.take(member, at: member.name == name ? "" : ConfigurationPath.withoutRoot(member.name))
        } else if Suggestion.closest(to: name, among: [ConfigurationPath.root]) != nil {
            self.reportForeign(member, name, "unknown section (did you mean '\(ConfigurationPath.root)'?)")
        }
    }

    private static func isRoot(_ member: Member) -> Bool {
        ConfigurationPath.components(member.name)[0] == ConfigurationPath.root
    }

    /// A file without the section has no effect; keys that look like the SDK's are reported.
    private mutating func refuseSections(among members: [Member]) {
        for member in members where !(self.schema.diagnose(member.name, isSection: true)?.isUnknown ?? false) {
            let message = "has no effect here: it belongs into a section '\(ConfigurationPath.root)'"
            self.reportForeign(member, member.name, message)
        }
    }

    /// Reports a section outside of the SDK's own.
    private mutating func reportForeign(_ member: Member, _ name: String, _ message: String) {
        self.layer.problems.append(
            ConfigurationProblem(
                .unknownName, Wording.shown(name), message, origin: "\(self.name):\(member.line)"))
    }

    private mutating func take(_ member: Member, at path: String) {
        if let first = self.lines.updateValue(member.line, forKey: path) {
            return self.report(
                .ambiguous, path, "given twice, in lines \(first) and \(member.line)", line: member.line)
        }
        let value = member.value.given
        let wrong = self.schema.diagnose(path, isSection: member.value.mapping != nil)
        // A section without a value, as in `services:`, is an empty section.
        if let wrong, wrong.isUnknown || value != nil {
            return self.report(.unknownName, wrong.path, wrong.message, line: member.line)
        }
        switch value {
        case .mapping(let section) where self.schema.keys[path]?.kind == .map:
            self.takeMap(section, at: path, line: member.line)
        case .mapping(let section):
            for inner in self.members(of: section) { self.take(inner, at: ConfigurationPath.join(path, inner.name)) }
        case .sequence(let items):
            self.take(items, at: path, line: member.line)
        case .scalar(let scalar):
            self.layer.entries[path] = Layer.Entry(
                value: .text(scalar.string), origin: "\(self.name):\(member.line)")
        case .alias, nil:
            ()
        }
    }

    private mutating func take(_ items: Node.Sequence, at path: String, line: Int) {
        for (index, item) in items.enumerated() where item.scalar == nil {
            return self.report(.wrongValue, "\(path)[\(index)]", "expected text, found \(item.noun)", line: line)
        }
        self.layer.entries[path] = Layer.Entry(
            value: .list(items.compactMap { $0.scalar?.string }), origin: "\(self.name):\(line)")
    }

    private mutating func takeMap(_ section: Node.Mapping, at path: String, line: Int) {
        var entries: [String: String] = [:]
        for member in self.members(of: section) {
            guard let scalar = member.value.scalar else {
                return self.report(
                    .wrongValue, "\(path).\(Wording.shown(member.name))",
                    "expected a value, found \(member.value.noun)", line: member.line)
            }
            entries[member.name] = scalar.string
        }
        self.layer.entries[path] = Layer.Entry(value: .map(entries), origin: "\(self.name):\(line)")
    }

    /// The keys of a section, and those that YAML's merge key adds.
    private mutating func members(of section: Node.Mapping) -> [Member] {
        var members: [Member] = []
        var merged: [Node.Mapping] = []
        for (key, value) in section {
            guard let name = key.scalar else {
                self.fail(.syntax, at: key.mark, "keys must be texts")
                continue
            }
            if name.string == "<<", name.style == .plain {
                merged += (value.sequence.map { Array($0) } ?? [value]).compactMap { $0.mapping }
            } else {
                members.append(Member(name: name.string, line: name.mark?.line ?? 1, value: value))
            }
        }
        for section in merged {
            let known = Set(members.map { $0.name })
            members += self.members(of: section).filter { !known.contains($0.name) }
        }
        return members
    }
}

extension Node {
    fileprivate var noun: String { self.mapping == nil ? "a list" : "a section" }

    /// The node; nil for null and for an empty text.
    fileprivate var given: Node? {
        guard let scalar = self.scalar else { return self }
        let isNull = scalar.style == .plain && ["~", "null", "Null", "NULL"].contains(scalar.string)
        return isNull || scalar.string.isEmpty ? nil : self
    }
}

extension YamlError {
    /// The problem with its line; it quotes nothing of the file, which may hold secrets.
    fileprivate var finding: (code: ConfigurationProblem.Code, mark: Mark?, message: String) {
        switch self {
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            let start = context.map { "\($0.text) in line \($0.mark.line), column \($0.mark.column), " } ?? ""
            return (.syntax, mark, start + problem)
        case .duplicatedKeysInMapping(let names, let context):
            let names = names.map { "'\(Wording.shown($0))'" }.joined(separator: ", ")
            return (.ambiguous, context.mark, "given twice in one section: \(names)")
        case .reader(let problem, _, _, _):
            return (.syntax, nil, "is not well-formed: \(problem)")
        default:
            return (.syntax, nil, "is not well-formed")
        }
    }
}
#else
/// A placeholder for the file reader, which needs the trait `YAML`.
struct FileLayer {
    static func read(_ path: String, _ schema: Schema, _ content: FileLook.Content) -> Layer {
        var layer = Layer(exposure: .file)
        layer.isBroken = true
        let reason = "cannot be read: not built in; switch the trait YAML of the package linkspan on"
        layer.problems.append(ConfigurationProblem(.unreadableFile, Wording.shown(path, limit: 300), reason))
        return layer
    }
}
#endif
