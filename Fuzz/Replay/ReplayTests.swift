internal import Foundation
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
