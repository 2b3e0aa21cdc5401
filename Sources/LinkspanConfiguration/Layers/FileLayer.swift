internal import Configuration
internal import LinkspanRuntime

/// Reads a YAML or JSON file.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
struct FileLayer {
    private enum Format {
        case yaml
        case json
    }

    private let name: String
    private let schema: Schema
    private var layer = Layer(exposure: .file)

    /// The values of a file, and all that is wrong with it.
    static func read(_ path: String, _ schema: Schema, _ content: FileLook.Content) -> Layer {
        var reader = Self(name: Wording.shown(path, limit: 300), schema: schema)
        switch content {
        case .text(let text): reader.read(text, format: path)
        case .failure(let reason): reader.fail(.unreadableFile, "cannot be read: \(reason)")
        }
        return reader.layer
    }

    private init(name: String, schema: Schema) {
        self.name = name
        self.schema = schema
    }

    private mutating func fail(_ code: ConfigurationProblem.Code, at position: String = "", _ message: String) {
        self.layer.isBroken = true
        self.layer.problems.append(ConfigurationProblem(code, "\(self.name)\(position)", message))
    }

    private mutating func read(_ text: FileText, format path: String) {
        let ending = path.lowercased()
        let isJSON = ending.hasSuffix(".json")
        guard isJSON || ending.hasSuffix(".yaml") || ending.hasSuffix(".yml") else {
            return self.fail(.unreadableFile, "cannot be read: its name does not end in .yaml, .yml or .json")
        }
        if let violation = NestingLimit.violation(in: text.bytes) {
            return self.fail(.syntax, "cannot be read: \(violation)")
        }
        guard !text.isEmpty else { return }
        let locator = KeyLocator(text.bytes)
        let repeated = locator.repeated.filter { $0.path == ConfigurationPath.root || Self.isOurs($0.path) }
        for key in repeated {
            self.layer.problems.append(
                ConfigurationProblem(
                    .ambiguous, Wording.shown(key.path), "given twice, in lines \(key.first) and \(key.second)",
                    origin: "\(self.name):\(key.second)"))
        }
        do {
            let content = try Self.parse(text, isJSON ? .json : .yaml)
            self.take(content, locator, isJSON ? .json : .yaml)
        } catch {
            // The parser knows of one of them, and has nothing to add.
            guard repeated.isEmpty else {
                self.layer.isBroken = true
                return
            }
            let failure = ParserMessage("\(error)", text, locator)
            self.fail(.syntax, at: failure.position, failure.message)
        }
    }

    private static func isOurs(_ path: String) -> Bool { path.hasPrefix("\(ConfigurationPath.root).") }

    private static func parse(
        _ text: FileText, _ format: Format
    ) throws -> (snapshot: any ConfigSnapshot, keys: [String]) {
        // The library lists no keys, but asks for each whether it is a secret.
        let keys = Lock<[String]>([])
        let collect: @Sendable (String) -> Bool = { key in
            keys.withLock { $0.append(key) }
            return false
        }
        let snapshot: any ConfigSnapshot
        switch format {
        case .yaml:
            snapshot = try YAMLSnapshot(
                data: text.bytes.span.bytes, providerName: "file",
                parsingOptions: .init(secretsSpecifier: .dynamic { key, _ in collect(key) }))
        case .json:
            snapshot = try JSONSnapshot(
                data: text.bytes.span.bytes, providerName: "file",
                parsingOptions: .init(secretsSpecifier: .dynamic { key, _ in collect(key) }))
        }
        return (snapshot, keys.withLock { $0 })
    }

    private mutating func take(
        _ content: (snapshot: any ConfigSnapshot, keys: [String]), _ locator: KeyLocator, _ format: Format
    ) {
        var reported: Set<String> = []
        for key in Set(content.keys).sorted() {
            guard Self.isOurs(key) else {
                self.checkRoot(key, locator, &reported)
                continue
            }
            let path = ConfigurationPath.withoutRoot(key)
            let value = Self.value(key, content.snapshot, format)
            if let wrong = self.schema.diagnose(path) {
                // An empty section is a section.
                if value != nil || wrong.isUnknown { self.report(wrong, locator, &reported) }
            } else if let value {
                self.layer.entries[path] = Layer.Entry(value: value, origin: self.origin(key, locator))
            }
        }
        self.checkEmptySections(content.keys, locator, &reported)
    }

    /// The library tells only of keys that lead to a value; `conection: {}` is a slip all the same.
    private mutating func checkEmptySections(
        _ keys: [String], _ locator: KeyLocator, _ reported: inout Set<String>
    ) {
        let known = Set(keys.flatMap { Self.sections(above: $0) + [$0] })
        for key in locator.lines.keys.sorted() where Self.isOurs(key) && !known.contains(key) {
            // Not read as the parser reads it: an escape, or YAML's sign for merging.
            guard !key.contains("\\"), !key.hasSuffix(".<<") else { continue }
            let wrong = self.schema.diagnose(ConfigurationPath.withoutRoot(key))
            if let wrong, wrong.isUnknown { self.report(wrong, locator, &reported) }
        }
    }

    private static func sections(above key: String) -> [String] {
        var names = ConfigurationPath.components(key)
        var sections: [String] = []
        while names.popLast() != nil, !names.isEmpty { sections.append(names.joined(separator: ".")) }
        return sections
    }

    private mutating func report(
        _ wrong: Schema.Diagnosis, _ locator: KeyLocator, _ reported: inout Set<String>
    ) {
        let full = ConfigurationPath.full(wrong.path)
        guard reported.insert(full).inserted else { return }
        self.layer.problems.append(
            ConfigurationProblem(.unknownName, full, wrong.message, origin: self.origin(full, locator)))
    }

    /// The file may belong to others too, but `linkspam:` is a slip.
    private mutating func checkRoot(_ key: String, _ locator: KeyLocator, _ reported: inout Set<String>) {
        let name = ConfigurationPath.components(key).first ?? key
        let isRoot = name == ConfigurationPath.root
        guard isRoot || Wording.nearest(to: name, among: [ConfigurationPath.root]) != nil,
            reported.insert(name).inserted
        else { return }
        let message =
            isRoot
            ? "expected a section, found a value"
            : "unknown section (did you mean '\(ConfigurationPath.root)'?)"
        self.layer.problems.append(
            ConfigurationProblem(
                .unknownName, Wording.shown(name), message, origin: self.origin(name, locator)))
    }

    private func origin(_ key: String, _ locator: KeyLocator) -> String {
        locator.lines[key].map { "\(self.name):\($0)" } ?? self.name
    }

    /// A value in the one form for all sources; nil for null and empty, which are the same as nothing.
    private static func value(_ key: String, _ snapshot: any ConfigSnapshot, _ format: Format) -> RawValue? {
        let key = AbsoluteConfigKey(ConfigurationPath.components(key))
        let nulls: Set<String> = format == .yaml ? ["", "~", "null", "Null", "NULL"] : [""]
        let types: [ConfigType] = [.string, .stringArray, .int, .intArray, .double, .doubleArray, .bool]
        for type in types {
            guard let content = (try? snapshot.value(forKey: key, type: type))?.value?.content else { continue }
            switch content {
            case .string(let text): return nulls.contains(text) ? nil : .text(text)
            case .int(let number): return .text("\(number)")
            case .double(let number): return .text("\(number)")
            case .bool(let flag): return .text("\(flag)")
            case .stringArray(let items): return .list(items)
            case .intArray(let numbers): return .list(numbers.map { "\($0)" })
            case .doubleArray(let numbers): return .list(numbers.map { "\($0)" })
            default: continue
            }
        }
        return nil
    }
}
