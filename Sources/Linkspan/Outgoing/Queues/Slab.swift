internal import LinkspanRuntime

/// An element of a ``Slab``, which begins empty and is emptied when its place is given back.
protocol SlabElement {
    init()
}

/// Elements in places with numbers, which are used again.
///
/// Memory comes in chunks: growing moves nothing, and an element costs its own size however many there are. Everything
/// but a little is let go of when the last element is.
struct Slab<Element: SlabElement> {
    typealias Place = UInt32

    private static var chunk: Int { 256 }
    /// The places that an empty slab keeps, so that one that is filled and emptied all the time does not allocate.
    private static var kept: Int { 4 }

    private var chunks: [ContiguousArray<Element>] = []
    private var free: [Place] = []
    private var used = 0

    /// The number of elements.
    var count: Int { self.used - self.free.count }

    /// The element at a place that was inserted and not removed.
    subscript(place: Place) -> Element {
        _read {
            assert(Growth.step())
            yield self.chunks[Int(place) / Self.chunk][Int(place) % Self.chunk]
        }
        _modify {
            assert(Growth.step())
            yield &self.chunks[Int(place) / Self.chunk][Int(place) % Self.chunk]
        }
    }

    /// Inserts an element.
    mutating func insert(_ element: consuming Element) -> Place {
        if let place = self.free.popLast() {
            self[place] = element
            return place
        }
        let place = Place(self.used)
        if self.used % Self.chunk == 0 { self.chunks.append([]) }
        self.chunks[self.used / Self.chunk].append(element)
        self.used += 1
        return place
    }

    /// Takes an element out.
    mutating func remove(_ place: Place) -> Element {
        var element = Element()
        swap(&element, &self[place])
        self.free.append(place)
        if self.count == 0 { self.removeAll(keepingPlaces: self.used <= Self.kept) }
        return element
    }

    private mutating func removeAll(keepingPlaces: Bool) {
        guard !keepingPlaces else { return }
        self = Self()
    }

    /// The contents of all places, the empty ones included.
    var all: some Sequence<Element> { self.chunks.joined() }

    /// The numbers of all places, the empty ones included.
    var places: Range<Place> { 0..<Place(self.used) }

    /// Takes all elements out.
    mutating func removeAll() { self = Self() }
}

extension Dictionary {
    /// Gives the memory back when nothing is left, unless it is little, which one that is filled and emptied all the time keeps.
    mutating func trim() { if self.isEmpty, self.capacity > 24 { self = [:] } }
}
