private import CLinkspanRuntime
#if canImport(Darwin)
private import Darwin
#endif
internal import LinkspanWebSocketProtocol

extension MaskSource {
    /// Draws from the system's generator, a block in one call.
    static let system = MaskSource { block in
        guard let bytes = UnsafeMutableRawBufferPointer(block).baseAddress else { return }
        let count = block.count * MemoryLayout<UInt32>.size
        #if canImport(Darwin)
        // Apps with a call of getentropy(2) have been rejected from the App Store; this one cannot fail.
        arc4random_buf(bytes, count)
        #else
        // The standard library's source knows further ways.
        if getentropy(bytes, count) != 0 { Self.fillFromStandardLibrary(block) }
        #endif
    }
}
