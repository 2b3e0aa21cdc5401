internal import CZlib

/// The memory of one direction of compression, which zlib allocates and this frees.
///
/// It belongs to a value, which copies it before it changes it unless nobody else has it, as an array does with its
/// storage. So it stays where it is: a session with it is not sent from thread to thread.
final class ZlibStream {
    private enum Kind: Sendable {
        case inflate
        case deflate
    }

    // On the heap and never moved: zlib's state points back at it.
    let raw: UnsafeMutablePointer<z_stream>
    private let kind: Kind

    private init(_ raw: UnsafeMutablePointer<z_stream>, _ kind: Kind) {
        self.raw = raw
        self.kind = kind
    }

    /// Makes a stream that decompresses, or returns nil when there is no memory for it.
    static func inflating(windowBits: Int) -> ZlibStream? {
        let raw = Self.allocate()
        return Self.wrap(raw, .inflate, czlib_inflate_begin(raw, Int32(windowBits)))
    }

    /// Makes a stream that compresses, or returns nil when there is no memory for it.
    ///
    /// With zlib's own level, 6, and 128 KiB of memory besides the window.
    static func deflating(windowBits: Int) -> ZlibStream? {
        let raw = Self.allocate()
        return Self.wrap(raw, .deflate, czlib_deflate_begin(raw, Z_DEFAULT_COMPRESSION, Int32(windowBits), 8))
    }

    /// Another stream in the same state, or nil when there is no memory for it.
    func copy() -> ZlibStream? {
        let raw = Self.allocate()
        switch self.kind {
        case .inflate: return Self.wrap(raw, .inflate, inflateCopy(raw, self.raw))
        case .deflate: return Self.wrap(raw, .deflate, deflateCopy(raw, self.raw))
        }
    }

    /// Forgets everything that went through, keeping the memory.
    func reset() -> Bool {
        switch self.kind {
        case .inflate: inflateReset(self.raw) == Z_OK
        case .deflate: deflateReset(self.raw) == Z_OK
        }
    }

    deinit {
        switch self.kind {
        case .inflate: inflateEnd(self.raw)
        case .deflate: deflateEnd(self.raw)
        }
        Self.free(self.raw)
    }

    private static func allocate() -> UnsafeMutablePointer<z_stream> {
        let raw = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        raw.initialize(to: z_stream())
        return raw
    }

    private static func free(_ raw: UnsafeMutablePointer<z_stream>) {
        raw.deinitialize(count: 1)
        raw.deallocate()
    }

    /// Takes over what zlib has filled; it has freed its part itself if it failed.
    private static func wrap(
        _ raw: UnsafeMutablePointer<z_stream>, _ kind: Kind, _ status: Int32
    ) -> ZlibStream? {
        guard status == Z_OK else {
            Self.free(raw)
            return nil
        }
        return ZlibStream(raw, kind)
    }
}
