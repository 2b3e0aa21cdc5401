internal import Foundation
internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// A pseudo-terminal with a process that has it as its controlling terminal.
package final class PseudoTerminal: Sendable {
    /// A call that failed.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(_ call: String) { self.description = "\(call): \(String(cString: strerror(errno)))" }
    }

    #if canImport(Darwin)
    private static let newSession = POSIX_SPAWN_SETSID
    #else
    /// The GNU C library shows `POSIX_SPAWN_SETSID` only to those who ask for its extensions.
    private static let newSession: Int32 = 0x80
    #endif

    private let master: Int32
    private let slave: Int32
    /// Where the other side can be opened.
    private let path: String
    private let process = Mutex<pid_t?>(nil)

    package init(columns: Int, rows: Int) throws {
        var (master, slave): (Int32, Int32) = (-1, -1)
        guard openpty(&master, &slave, nil, nil, nil) == 0, let path = ttyname(slave) else { throw Failure("openpty") }
        for end in [master, slave] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (self.master, self.slave, self.path) = (master, slave, String(cString: path))
        self.resize(columns: columns, rows: rows)
    }

    /// Starts a program in a session of its own.
    package func run(_ command: [String], environment: [String: String]) throws {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // What the tests ignore or block must not be inherited.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        let flags = Self.newSession | Int32(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The first terminal that the leader of a session opens becomes its controlling one.
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, self.path, O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDERR_FILENO)
        let words = command.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in words + variables { free(text) } }
        var process = pid_t()
        errno = posix_spawn(&process, command[0], &actions, &attributes, words, variables)
        // From now on the terminal ends with the processes that have it.
        close(self.slave)
        guard errno == 0 else { throw Failure("posix_spawn") }
        self.process.withLock { $0 = process }
    }

    /// Tells the size of the window, and those who run in it that it has changed.
    package func resize(columns: Int, rows: Int) {
        var window = winsize(
            ws_row: UInt16(clamping: rows), ws_col: UInt16(clamping: columns), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(self.master, UInt(TIOCSWINSZ), &window)
    }

    /// Whether keys come at once and unseen.
    package var isRaw: Bool {
        var settings = termios()
        return tcgetattr(self.master, &settings) == 0 && settings.c_lflag & tcflag_t(ICANON | ECHO) == 0
    }

    /// Sets the terminal as a shell does that has taken it back.
    package func cook() {
        var settings = termios()
        guard tcgetattr(self.master, &settings) == 0 else { return }
        settings.c_lflag |= tcflag_t(ICANON | ECHO | ISIG)
        settings.c_oflag |= tcflag_t(OPOST)
        tcsetattr(self.master, TCSANOW, &settings)
    }

    /// Types.
    package func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(self.master, $0) }
            guard count > 0 else { throw Failure("write") }
            rest = rest.dropFirst(count)
        }
    }

    /// What was written next; nil when nobody is there any more.
    package func read() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = buffer.withUnsafeMutableBytes { systemRead(self.master, $0) }
        return count > 0 ? Array(buffer[..<count]) : nil
    }

    /// Sends a signal to all processes of the session's group, as long as its leader has not been waited for.
    package func kill(_ number: Int32) {
        self.process.withLock { process in
            if let process { _ = systemKill(-process, number) }
        }
    }

    /// Ends the processes in the foreground.
    package func killForeground() {
        let group = tcgetpgrp(self.master)
        if group > 1 { _ = systemKill(-group, SIGKILL) }
    }

    /// Waits for the process, and closes the terminal.
    package func finish() {
        guard let process = self.process.withLock({ $0 }) else { return }
        var status: Int32 = 0
        // The process that kept the terminal open may run on for a moment, with no output left.
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        self.process.withLock { $0 = nil }
        close(self.master)
    }
}

/// `write(2)`, whose name a method has, too.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}

/// `read(2)`.
private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer) -> Int {
    read(descriptor, bytes.baseAddress, bytes.count)
}

/// `kill(2)`.
private func systemKill(_ process: pid_t, _ number: Int32) -> Int32 { kill(process, number) }
