internal import Foundation
internal import LinkspanTesting
internal import Testing

/// What fuzzing starts from and what it once broke on, again and again.
@Suite("Fuzz targets")
struct ReplayTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    /// The stored inputs of a target, sorted by name.
    ///
    /// An archive has one character for each byte of an input.
    private static func inputs(_ target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        let archive = Self.folder.appendingPathComponent("Seeds/\(target.name).json")
        let inputs = try JSONDecoder().decode([String: String].self, from: Data(contentsOf: archive))
        return try inputs.sorted { $0.key < $1.key }.map { name, text in
            (name, try text.unicodeScalars.map { try #require(UInt8(exactly: $0.value), "\(name)") })
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: FuzzTarget.all)
    func `hold for every stored input`(_ target: FuzzTarget) throws {
        let inputs = try Self.inputs(target)
        #expect(inputs.count >= 8, "the seeds are missing")
        for input in inputs {
            #expect(throws: Never.self, "\(input.name)") { try target.check(input.bytes) }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: FuzzTarget.all)
    func `hold for mutations of them`(_ target: FuzzTarget) throws {
        let inputs = try Self.inputs(target).map(\.bytes)
        var mutator = Mutator(inputs: inputs, seed: 1)
        // Longer on demand: FUZZ_MUTATIONS=1000000 swift test --filter FuzzTests.
        let count = ProcessInfo.processInfo.environment["FUZZ_MUTATIONS"].flatMap(Int.init) ?? 4000
        for _ in 0..<count {
            let input = mutator.next()
            do {
                try target.check(input)
            } catch {
                Issue.record("\(error.message): \(Data(input).base64EncodedString())")
                return
            }
        }
    }

    @Test
    func `are all built for the fuzzer, and have what it needs`() throws {
        let names = FuzzTarget.all.map(\.name)
        for (folder, suffix) in [("Targets", ""), ("Seeds", ".json")] {
            let path = Self.folder.appendingPathComponent(folder).path
            let found = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
            #expect(found == names.map { $0 + suffix }, "in \(folder)")
        }
        let dictionaries = try String(contentsOf: Self.folder.appendingPathComponent("dictionaries"), encoding: .utf8)
        #expect(dictionaries.matches(of: /(?m)^# === (.+)$/).map { String($0.1) } == names)
    }
}

/// Makes inputs from other inputs, the same ones each time.
struct Mutator {
    private let inputs: [[UInt8]]
    private var generator: SeededGenerator

    /// Pieces that a blind mutation would not find.
    private static let fragments: [[UInt8]] = [
        "connect", "_placeholder", "\"num\":", "{\"_placeholder\":true,\"num\":0}", "2147483648", "9007199254740993",
        "9223372036854775808", "18446744073709551616", "-1", "1e400", "[[[[[[[[", "]]]]", "{\"a\":", "}", ",", "\"",
        "\\",
        "\\u", "\\ud800", "/a,", "-", "10-", "45", "\u{1E}", "\0", "\u{FEFF}", "\r\n", "\n", "|", "%", "\u{7F}", "é",
    ].map { Array($0.utf8) }

    init(inputs: [[UInt8]], seed: UInt64) {
        self.inputs = inputs
        self.generator = SeededGenerator(seed: seed)
    }

    /// The next input.
    mutating func next() -> [UInt8] {
        var bytes = self.inputs.randomElement(using: &self.generator) ?? []
        for _ in 0..<Int.random(in: 1...4, using: &self.generator) {
            let index = Int.random(in: 0...bytes.count, using: &self.generator)
            switch Int.random(in: 0..<7, using: &self.generator) {
            case 0: bytes.insert(.random(in: 0...255, using: &self.generator), at: index)
            case 1: bytes.insert(contentsOf: Self.fragments.randomElement(using: &self.generator) ?? [], at: index)
            case 2: bytes.removeSubrange(index...)
            case 3: if index < bytes.count { bytes.remove(at: index) }
            case 4: if index < bytes.count { bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &self.generator) }
            case 5: bytes.insert(contentsOf: bytes[index...].prefix(64), at: index)
            default: bytes += self.inputs.randomElement(using: &self.generator)?.suffix(32) ?? []
            }
        }
        return Array(bytes.prefix(4096))
    }
}
