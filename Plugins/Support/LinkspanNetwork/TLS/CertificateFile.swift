internal import LinkspanRuntime

/// Reads the files that a TLS policy names.
package enum CertificateFile {
    /// More than any bundle of authorities has, in bytes.
    private static let limit = 16 << 20

    package static func read(_ path: String) throws(ByteStreamError) -> [UInt8] {
        do throws(RegularFile.Failure) {
            return try RegularFile.read(path, limit: Self.limit)
        } catch {
            throw ByteStreamError(.tlsUnusable, "a file of certificates cannot be read: \(error.reason)")
        }
    }

    /// Checks a file that the TLS library is to read itself.
    package static func check(_ path: String) throws(ByteStreamError) {
        do throws(RegularFile.Failure) {
            try RegularFile.check(path)
        } catch {
            throw ByteStreamError(.tlsUnusable, "the file of a key cannot be read: \(error.reason)")
        }
    }
}
