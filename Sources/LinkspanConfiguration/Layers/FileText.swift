#if canImport(Darwin)
private import Darwin
#elseif canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#endif

/// The bytes of a file, if it is a text of sensible size.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
struct FileText: Sendable, Hashable {
    /// The largest file that is read; beyond it is no configuration.
    static let limit = 256 << 10

    let bytes: [UInt8]

    init(path: String) throws(Failure) {
        guard let file = fopen(path, "rb") else { throw Failure(reason: Self.lastFailure()) }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count <= Self.limit {
            let count = fread(&chunk, 1, chunk.count, file)
            bytes += chunk[..<count]
            guard count == chunk.count else { break }
        }
        // Directories can be opened, but not read.
        guard ferror(file) == 0 else { throw Failure(reason: Self.lastFailure()) }
        guard bytes.count <= Self.limit else {
            throw Failure(reason: "it is larger than \(Self.limit >> 10) KiB")
        }
        try self.init(bytes: bytes)
    }

    init(bytes: [UInt8]) throws(Failure) {
        guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else {
            throw Failure(reason: "it is not UTF-8 text")
        }
        self.bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }

    /// Whether there is nothing but blank lines, comments and the marks around a YAML document.
    var isEmpty: Bool {
        self.bytes.split(separator: 0x0A).allSatisfy { line in
            let text = line.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
            return text.isEmpty || text.first == 0x23 || text.starts(with: [0x2D, 0x2D, 0x2D]) && text.count <= 4
        }
    }

    /// The line and column of a byte, both from 1.
    func position(of offset: Int) -> (line: Int, column: Int) {
        let before = self.bytes.prefix(max(0, offset))
        let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        return (before.count { $0 == 0x0A } + 1, before.count - start + 1)
    }

    /// Why a file was not read.
    struct Failure: Error {
        var reason: String
    }

    private static func lastFailure() -> String {
        guard let text = strerror(errno) else { return "error \(errno)" }
        return String(cString: text)
    }
}
