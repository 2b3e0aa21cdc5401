internal import FuzzOracles

/// What the fuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    FuzzTarget.payloadCoder.run(UnsafeBufferPointer(start: start, count: count))
}
