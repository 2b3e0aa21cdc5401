internal import Linkspan

/// Values as JSON text.
enum JSONText {
    static func of(_ value: some Encodable) -> ArraySlice<UInt8> {
        // Nothing here is a number that JSON lacks.
        (try? Payload(value))?.elements ?? []
    }
}

extension Duration {
    /// Milliseconds with at most two places.
    var milliseconds: Double { (self / .milliseconds(1) * 100).rounded() / 100 }

    /// Whole milliseconds, as many as a page counts exactly: a server or an app may have chosen the duration.
    var wholeMilliseconds: Int64 {
        let limit = Double(1 << 53 as Int64)
        return Int64(min(max(-limit, self / .milliseconds(1)), limit))
    }
}
