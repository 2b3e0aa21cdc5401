#if canImport(Darwin)
private import Darwin
#elseif canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#endif

private import CLibwebsockets

/// A system thread without Foundation.
enum Thread {
    private final class Body: Sendable {
        let name: String
        let run: @Sendable () -> Void

        init(name: String, run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// Starts a detached thread; returns false when the system has none left.
    static func start(name: String, _ run: @escaping @Sendable () -> Void) -> Bool {
        let body = Unmanaged.passRetained(Body(name: name, run: run))
        #if canImport(Darwin)
        var thread: pthread_t?
        let code = pthread_create(&thread, nil, { Thread.enter($0) }, body.toOpaque())
        #else
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, { $0.flatMap { Thread.enter($0) } }, body.toOpaque())
        #endif
        guard code == 0 else {
            body.release()
            return false
        }
        #if canImport(Darwin)
        if let thread { pthread_detach(thread) }
        #else
        pthread_detach(thread)
        #endif
        return true
    }

    private static func enter(_ pointer: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        let body = Unmanaged<Body>.fromOpaque(pointer).takeRetainedValue()
        clws_name_thread(body.name)
        body.run()
        return nil
    }
}
