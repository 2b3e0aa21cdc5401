private import CLinkspanRuntime

/// The process's standard error.
package enum StandardError {
    /// Writes a line in one piece.
    package static func print(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = bytes.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
    }
}
