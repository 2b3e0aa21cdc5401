/// Bytes that are written one behind the other into room that was made for all of them at once.
///
/// An array asks at each append whether it has one owner and room enough, which for a short text costs more than the bytes.
@usableFromInline
package struct ByteWriter {
    @usableFromInline let room: UnsafeMutableBufferPointer<UInt8>
    @usableFromInline var count = 0

    @inlinable
    init(_ room: UnsafeMutableBufferPointer<UInt8>) { self.room = room }

    /// Writes a byte.
    @inlinable
    package mutating func append(_ byte: UInt8) {
        precondition(self.count < self.room.count, "more is written than there is room for")
        self.room[self.count] = byte
        self.count &+= 1
    }

    /// Writes a number, its most significant byte first.
    mutating func append<Number: FixedWidthInteger & BitwiseCopyable>(number: Number) {
        let size = MemoryLayout<Number>.size
        precondition(size <= self.room.count &- self.count, "more is written than there is room for")
        UnsafeMutableRawBufferPointer(self.room).storeBytes(
            of: number.bigEndian, toByteOffset: self.count, as: Number.self)
        self.count &+= size
    }

    /// Writes bytes.
    @inlinable
    package mutating func append(contentsOf bytes: UnsafeBufferPointer<UInt8>) {
        precondition(bytes.count <= self.room.count &- self.count, "more is written than there is room for")
        guard let source = bytes.baseAddress, let start = self.room.baseAddress else { return }
        (start + self.count).update(from: source, count: bytes.count)
        self.count &+= bytes.count
    }

    /// Writes bytes.
    @inlinable
    package mutating func append(contentsOf bytes: some Collection<UInt8>) {
        if bytes.withContiguousStorageIfAvailable({ self.append(contentsOf: $0) }) != nil { return }
        for byte in bytes { self.append(byte) }
    }

    /// The bytes that were written from a position on, which may be changed there.
    func written(from start: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: self.room[start..<self.count]))
    }
}

extension [UInt8] {
    /// Appends what `write` writes: at most so many bytes.
    @inlinable
    package mutating func append(upTo count: Int, _ write: (inout ByteWriter) -> Void) {
        self.append(addingCapacity: count) { span in
            span.withUnsafeMutableBufferPointer { room, filled in
                var writer = ByteWriter(room)
                write(&writer)
                filled = writer.count
            }
        }
    }
}
