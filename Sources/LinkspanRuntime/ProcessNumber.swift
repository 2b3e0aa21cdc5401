private import CLinkspanRuntime

/// Numbers that tell things of one process apart.
package enum ProcessNumber {
    /// A number larger than all that were given before, from 1.
    @inline(never)
    package static func next() -> UInt64 { clinkspan_next_number() }
}
