internal import CZlib

/// The memory of one direction of compression, which zlib allocates and this frees.
///
/// It belongs to a value, which copies it before it changes it unless nobody else has it, as an array does with its
/// storage. So it stays where it is: a session with it is not sent from thread to thread.
final class ZlibStream {
    // On the heap and never moved: zlib's state points back at it.
    let raw: UnsafeMutablePointer<z_stream>
    private let inflates: Bool

    private init(inflates: Bool) {
        self.raw = .allocate(capacity: 1)
        self.raw.initialize(to: z_stream())
        self.inflates = inflates
    }

    /// Makes a stream that decompresses, or returns nil when there is no memory for it.
    static func inflating(windowBits: Int) -> ZlibStream? {
        let stream = ZlibStream(inflates: true)
        return stream.begun(czlib_inflate_begin(stream.raw, Int32(windowBits)))
    }

    /// Makes a stream that compresses, or returns nil when there is no memory for it.
    ///
    /// With zlib's own level, 6, and 128 KiB of memory besides the window.
    static func deflating(windowBits: Int) -> ZlibStream? {
        let stream = ZlibStream(inflates: false)
        return stream.begun(czlib_deflate_begin(stream.raw, Z_DEFAULT_COMPRESSION, Int32(windowBits), 8))
    }

    /// Another stream in the same state, or nil when there is no memory for it.
    fileprivate func copy() -> ZlibStream? {
        let copy = ZlibStream(inflates: self.inflates)
        return copy.begun(self.inflates ? inflateCopy(copy.raw, self.raw) : deflateCopy(copy.raw, self.raw))
    }

    private func begun(_ status: Int32) -> ZlibStream? {
        if status == Z_OK { return self }
        // zlib has freed its part itself, and may have left a pointer to that or to the original's.
        self.raw.pointee = z_stream()
        return nil
    }

    /// Forgets everything that went through, keeping the memory.
    func reset() -> Bool { (self.inflates ? inflateReset(self.raw) : deflateReset(self.raw)) == Z_OK }

    deinit {
        _ = self.inflates ? inflateEnd(self.raw) : deflateEnd(self.raw)
        self.raw.deinitialize(count: 1)
        self.raw.deallocate()
    }
}

extension ZlibStream? {
    /// The stream, made when it is first needed, and copied if another value has it, too.
    ///
    /// While the result is held, the next call does not find the reference unique.
    mutating func own(or make: @autoclosure () -> ZlibStream?) -> ZlibStream? {
        if self == nil { self = make() } else if !isKnownUniquelyReferenced(&self) { self = self?.copy() }
        return self
    }
}
