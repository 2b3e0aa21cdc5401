import Foundation

/// Reports signals on a thread of its own.
///
/// A dispatch source would take its time until it is in place, and a signal that comes before ends the process.
enum SignalWatch {
    /// Takes the numbers from the handler, which may do hardly more than write them down.
    ///
    /// When it is full the handler does not wait; there is enough to be told already.
    private static let ends = Self.makeEnds()

    /// Tells each signal, for the life of the process.
    static func run(_ tell: @escaping @Sendable (Int32) -> Void) {
        let output = Self.ends.output
        Thread.detachNewThread {
            var number: UInt8 = 0
            while true {
                let count = read(output, &number, 1)
                if count == 1 {
                    tell(Int32(number))
                } else if count == 0 || errno != EINTR {
                    return
                }
            }
        }
    }

    /// Reports these signals from now on and suppresses their default action.
    static func begin(_ numbers: [Int32]) {
        // The handler must find it made.
        guard self.ends.input >= 0 else { return }
        for number in numbers {
            signal(number) { number in
                let failure = errno
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(SignalWatch.ends.input, &byte, 1)
                errno = failure
            }
        }
    }

    /// Restores the default action of these signals.
    static func end(_ numbers: [Int32]) {
        for number in numbers { signal(number, SIG_DFL) }
    }

    private static func makeEnds() -> (output: Int32, input: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return (-1, -1) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        return (ends[0], ends[1])
    }
}
