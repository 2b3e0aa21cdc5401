private import CLinkspanRuntime

/// Starts threads of the system.
package enum SystemThread {
    /// The urgency of a thread's work.
    package enum Priority: Sendable, Hashable {
        /// As urgent as other threads.
        case normal
        /// Behind everything else: nice 19 on Linux, quality of service `utility` on Apple's platforms.
        case utility
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a detached thread, which ends when `run` returns.
    ///
    /// - Parameters:
    ///   - name: the thread's name, for debuggers; Linux shows the first 15 bytes.
    ///   - priority: how urgent its work is.
    ///   - run: the work.
    /// - Returns: whether there is a thread; false when the system has none left.
    package static func start(
        name: String, priority: Priority = .normal, _ run: @escaping @Sendable () -> Void
    ) -> Bool {
        let body = Unmanaged.passRetained(
            Body {
                clinkspan_name_thread(name)
                if priority == .utility { Self.giveWay() }
                run()
            })
        // Elsewhere it is a number.
        #if canImport(Darwin) || canImport(Musl)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        guard pthread_create(&thread, nil, { Self.enter($0) }, body.toOpaque()) == 0 else {
            body.release()
            return false
        }
        #if canImport(Darwin) || canImport(Musl)
        if let thread { pthread_detach(thread) }
        #else
        pthread_detach(thread)
        #endif
        return true
    }

    private static func enter(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
    }

    private static func giveWay() {
        #if canImport(Darwin)
        pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0)
        #elseif canImport(Glibc)
        // On Linux 0 means the calling thread, not its process (setpriority(2), "C library/kernel differences").
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
        #else
        _ = setpriority(PRIO_PROCESS, 0, 19)
        #endif
    }
}
