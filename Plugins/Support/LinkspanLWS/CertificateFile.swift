private import CLinkspanRuntime

internal import LinkspanNetwork

/// Reads a file of certificates.
enum CertificateFile {
    /// More than any bundle of authorities has, in bytes.
    private static let limit = 16 * 1024 * 1024

    static func read(_ path: String) throws(ByteStreamError) -> [UInt8] {
        guard let file = fopen(path, "rb") else {
            throw ByteStreamError(.tlsUnusable, "a file of certificates cannot be opened")
        }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 * 1024)
        while bytes.count <= Self.limit {
            let count = fread(&piece, 1, piece.count, file)
            guard count > 0 else { return bytes }
            bytes += piece[..<count]
        }
        throw ByteStreamError(.tlsUnusable, "a file of certificates is over 16 MiB")
    }
}
