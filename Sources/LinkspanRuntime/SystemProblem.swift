private import CLinkspanRuntime

/// The failures of system calls, by their numbers.
package enum SystemProblem {
    /// The system's words for the number of a failure, as `errno` has it.
    package static func text(of number: CInt) -> String {
        strerror(number).map { String(cString: $0) } ?? "error \(number)"
    }
}
