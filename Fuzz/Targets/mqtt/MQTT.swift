internal import FuzzOracles

/// The entry point of libFuzzer, called with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    FuzzTarget.mqtt.run(UnsafeBufferPointer(start: start, count: count))
}
