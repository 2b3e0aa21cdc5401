internal import LinkspanNetwork

/// Frames to send: texts one behind another in a single buffer, or what a codec of the app's makes.
struct FrameQueue: Sendable {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []
    /// Packets by a codec, which come in place of all texts but heartbeats.
    private(set) var messages: [[WebSocketMessage]] = []

    /// Whether there is none.
    var isEmpty: Bool { self.ends.isEmpty && self.messages.isEmpty }

    /// The frames, in order, as slices of the buffer.
    var frames: some Sequence<ArraySlice<UInt8>> {
        self.ends.indices.lazy.map { index in
            self.bytes[(index == 0 ? 0 : self.ends[index - 1])..<self.ends[index]]
        }
    }

    /// Adds a frame: all that `write` appends.
    mutating func append(_ write: (inout [UInt8]) -> Void) {
        write(&self.bytes)
        self.ends.append(self.bytes.count)
    }

    /// Adds a packet of several frames, to be sent with nothing between them.
    mutating func append(_ packet: [WebSocketMessage]) { self.messages.append(packet) }

    /// Forgets the frames but keeps the memory.
    mutating func removeAll() {
        self.messages.removeAll()
        self.bytes.removeAll(keepingCapacity: true)
        self.ends.removeAll(keepingCapacity: true)
    }
}
