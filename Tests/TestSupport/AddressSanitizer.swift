internal import Foundation

/// The address sanitizer, which keeps freed memory for a while: what a process takes says little then.
package enum AddressSanitizer {
    /// Whether the tests run under it.
    package static let isOn = ProcessInfo.processInfo.environment["ASAN_OPTIONS"] != nil
}
