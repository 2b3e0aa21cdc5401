#if canImport(Darwin)
private import Darwin
#elseif canImport(Glibc)
// Whichever module reads the system's header first owns what is in it, such as the type of SOCK_STREAM.
private import CLibwebsockets
private import Glibc
#elseif canImport(Musl)
private import Musl
#endif

internal import LinkspanNetwork
internal import LinkspanRuntime

/// Turns host names into numeric addresses on threads of its own, because the system's look-up blocks.
///
/// Look-ups of one name at one time are one look-up. Threads are started on demand and end when there is nothing left
/// to do; a name server that does not answer holds up to `threadLimit` names, whose attempts end at their own
/// deadlines.
final class Resolver: Sendable {
    typealias Completion = @Sendable (Result<[String], ByteStreamError>) -> Void
    typealias Lookup = @Sendable (String) -> Result<[String], ByteStreamError>

    static let system = Resolver(lookup: Resolver.addresses(of:))

    fileprivate struct State: Sendable {
        var waiting: [String: [Completion]] = [:]
        var queue: [String] = []
        var threads = 0
    }

    /// Look-ups under way: between loops and the threads that resolve.
    private let state = Lock(State())
    private let lookup: Lookup
    private let threadLimit: Int

    init(threadLimit: Int = 16, lookup: @escaping Lookup) {
        self.lookup = lookup
        self.threadLimit = threadLimit
    }

    /// Looks `name` up and calls `completion` on another thread, or at once when no thread can be had.
    func resolve(_ name: String, _ completion: @escaping Completion) {
        let startsThread = self.state.withLock { state in
            if state.waiting[name] == nil { state.queue.append(name) }
            state.waiting[name, default: []].append(completion)
            guard !state.queue.isEmpty, state.threads < self.threadLimit else { return false }
            state.threads += 1
            return true
        }
        guard startsThread, !SystemThread.start(name: "linkspan-dns", { self.work() }) else { return }
        self.fail()
    }

    private func work() {
        while let name = self.state.withLock({ $0.next() }) {
            let result = self.lookup(name)
            for completion in self.state.withLock({ $0.waiting.removeValue(forKey: name) ?? [] }) {
                completion(result)
            }
        }
    }

    /// Ends what waits for a thread that the system would not start, unless another one is at work.
    private func fail() {
        let stranded = self.state.withLock { state -> [Completion] in
            state.threads -= 1
            guard state.threads == 0 else { return [] }
            defer { state.queue = [] }
            return state.queue.flatMap { state.waiting.removeValue(forKey: $0) ?? [] }
        }
        for completion in stranded {
            completion(.failure(ByteStreamError(.unavailable, "no thread for a name look-up")))
        }
    }
}

extension Resolver.State {
    /// The next name, or nil when the calling thread is to end.
    mutating func next() -> String? {
        guard !self.queue.isEmpty else {
            self.threads -= 1
            return nil
        }
        return self.queue.removeFirst()
    }
}

extension Resolver {
    /// The addresses that the system's resolver has for a name, in its order, each once.
    static func addresses(of name: String) -> Result<[String], ByteStreamError> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        #if os(Linux) && !canImport(Musl)
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, nil, &hints, &list)
        guard code == 0 else {
            let text = gai_strerror(code).map { String(cString: $0) } ?? "error \(code)"
            return .failure(ByteStreamError(.nameNotResolved, "the host's name was not resolved: \(text)"))
        }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var entry = list
        while let info = entry?.pointee {
            if let address = Self.numeric(info), !addresses.contains(address) { addresses.append(address) }
            entry = info.ai_next
        }
        return .success(addresses)
    }

    private static func numeric(_ info: addrinfo) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { text in
            let size = socklen_t(text.count)
            let code = getnameinfo(info.ai_addr, info.ai_addrlen, text.baseAddress, size, nil, 0, NI_NUMERICHOST)
            guard code == 0, let start = text.baseAddress else { return nil }
            return String(cString: start)
        }
    }
}
