import Foundation

/// The terminal that is the standard input and output of the process.
public final class TerminalDevice: Terminal {
    private static let signals = [SIGWINCH, SIGCONT, SIGTERM, SIGHUP, SIGINT]

    /// Keys, signals and lines of standard error, for one listener.
    public let inputs: AsyncStream<TerminalInput>
    private let original: termios
    private let errors: ErrorDiversion?
    private let output = DispatchQueue(label: "terminal output")

    /// Takes the terminal if there is one that can do more than print.
    ///
    /// - Returns: nil when input or output is something else, or a terminal that knows no sequences.
    public init?(environment: [String: String]) {
        guard Self.understandsSequences(environment), isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else {
            return nil
        }
        var original = termios()
        guard tcgetattr(STDIN_FILENO, &original) == 0 else { return nil }
        self.original = original
        let (inputs, source) = AsyncStream<TerminalInput>.makeStream()
        self.inputs = inputs
        self.errors = isatty(STDERR_FILENO) == 1 ? ErrorDiversion { source.yield(.stray($0)) } : nil
        SignalWatch.run { number in
            switch number {
            case SIGWINCH: source.yield(.resized)
            case SIGCONT: source.yield(.resumed)
            default: source.yield(.terminated(signal: number))
            }
        }
        Self.readKeys(source)
    }

    /// Whether the terminal that the environment names understands escape sequences.
    public static func understandsSequences(_ environment: [String: String]) -> Bool {
        !["", "dumb"].contains(environment["TERM"] ?? "")
    }

    /// The size now; 80 by 24 where the terminal does not know it.
    public func size() -> TerminalSize { Self.size(of: STDOUT_FILENO) }

    static func size(of descriptor: Int32) -> TerminalSize {
        var window = winsize()
        // A terminal that was never told its size says 0.
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
            return TerminalSize(columns: 80, rows: 24)
        }
        return TerminalSize(columns: Int(window.ws_col), rows: Int(window.ws_row))
    }

    /// Takes the terminal over: keys come at once and unseen.
    public func enter() {
        // First: from here on the process must not end without restoring the terminal.
        SignalWatch.begin(Self.signals)
        var raw = self.original
        cfmakeraw(&raw)
        // What was typed ahead is kept.
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw)
        self.errors?.begin()
    }

    /// Gives the terminal back as it was.
    public func restore() {
        self.errors?.end()
        var original = self.original
        tcsetattr(STDIN_FILENO, TCSADRAIN, &original)
        SignalWatch.end(Self.signals)
    }

    /// Gives it back and stops the process, as Ctrl-Z does, and takes it over again afterwards.
    public func suspend() {
        self.restore()
        // The others of the job first, while the signal means nothing to this process.
        signal(SIGTSTP, SIG_IGN)
        _ = kill(0, SIGTSTP)
        signal(SIGTSTP, SIG_DFL)
        // Raised in this thread, which may well have it blocked, it stops the process before this returns. Without a shell
        // to go back to, it does nothing.
        var (stop, former) = (sigset_t(), sigset_t())
        sigemptyset(&stop)
        sigaddset(&stop, SIGTSTP)
        raise(SIGTSTP)
        pthread_sigmask(SIG_UNBLOCK, &stop, &former)
        pthread_sigmask(SIG_SETMASK, &former, nil)
        self.enter()
    }

    /// Writes text with its sequences, and returns when the terminal has taken it.
    public func write(_ text: String) async {
        // A terminal may stop to read for as long as it likes; that must not hold up anything else.
        await withCheckedContinuation { continuation in
            self.output.async {
                Self.write(text, to: STDOUT_FILENO)
                continuation.resume()
            }
        }
    }

    /// Writes all of a text; returns 0, or the number of the error.
    @discardableResult
    static func write(_ text: String, to descriptor: Int32) -> Int32 {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another user of the terminal or the pipe has set it.
                var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&wait, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }

    /// Reads on a thread of its own, because a read cannot be cancelled; the process does not wait for it.
    private static func readKeys(_ source: AsyncStream<TerminalInput>.Continuation) {
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = buffer.withUnsafeMutableBytes { Foundation.read(STDIN_FILENO, $0.baseAddress, $0.count) }
                if count > 0 {
                    source.yield(.bytes(Array(buffer[..<count])))
                } else if count < 0, errno == EAGAIN {
                    var wait = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
                    poll(&wait, 1, -1)
                } else if count == 0 || errno != EINTR {
                    break
                }
            }
            source.yield(.ended)
        }
    }
}

/// Redirects standard error into the conversation, so that it does not spoil the screen.
private final class ErrorDiversion: Sendable {
    private let original: Int32
    private let input: Int32

    /// - Parameter show: takes each line.
    init?(_ show: @escaping @Sendable (String) -> Void) {
        var ends: (Int32, Int32) = (-1, -1)
        let isOpen = withUnsafeMutableBytes(of: &ends) { pipe($0.bindMemory(to: Int32.self).baseAddress) == 0 }
        let original = dup(STDERR_FILENO)
        guard isOpen, original >= 0 else { return nil }
        (self.original, self.input) = (original, ends.1)
        for descriptor in [ends.0, ends.1, original] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        let output = FileHandle(fileDescriptor: ends.0)
        Thread.detachNewThread {
            var rest = Data()
            while case let data = output.availableData, !data.isEmpty {
                rest += data
                var lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                rest = Data(lines.popLast() ?? Data())
                for line in lines where !line.isEmpty { show(String(decoding: line, as: UTF8.self)) }
            }
        }
    }

    func begin() { _ = dup2(self.input, STDERR_FILENO) }

    func end() { _ = dup2(self.original, STDERR_FILENO) }
}
