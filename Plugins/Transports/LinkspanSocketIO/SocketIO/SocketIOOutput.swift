internal import Linkspan
internal import LinkspanNetwork

/// What a ``SocketIOSession`` wants done, gathered over one received chunk.
///
/// The order within each list counts; between them: write, then deliver, then close.
struct SocketIOOutput: Sendable {
    /// Text frames to send.
    var frames = FrameQueue()
    /// Events for the owners of namespaces, in order.
    private(set) var batches: [NamespaceBatch] = []
    /// Set when the stream has to be dropped.
    ///
    /// Each namespace has its closing event among the batches already.
    var close: LinkspanError?

    /// Whether there is nothing to do.
    var isEmpty: Bool { self.batches.isEmpty && self.frames.isEmpty && self.close == nil }

    /// Forgets everything but keeps the memory for the next chunk.
    mutating func removeAll() {
        self.frames.removeAll()
        self.batches.removeAll(keepingCapacity: true)
        self.close = nil
    }

    /// Takes the events out.
    mutating func takeBatches() -> [NamespaceBatch] {
        var batches: [NamespaceBatch] = []
        swap(&batches, &self.batches)
        return batches
    }

    /// Adds an event of a namespace.
    @inline(__always)
    mutating func deliver(_ event: consuming LinkEvent, to namespace: Int) {
        let last = self.batches.count - 1
        if last >= 0, self.batches[last].namespace == namespace {
            self.batches[last].events.append(event)
        } else {
            self.batches.append(NamespaceBatch(namespace: namespace, events: [event]))
        }
    }
}

/// Events of one namespace that follow one another.
struct NamespaceBatch: Sendable {
    /// The index that ``SocketIOSession/join(_:auth:recovery:timeout:now:output:)`` returned.
    var namespace: Int
    /// What happened there.
    var events: [LinkEvent]

    mutating func takeEvents() -> [LinkEvent] {
        var events: [LinkEvent] = []
        swap(&events, &self.events)
        return events
    }
}

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
