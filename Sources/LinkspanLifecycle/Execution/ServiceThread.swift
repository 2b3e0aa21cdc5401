#if canImport(Darwin)
private import Darwin
#elseif canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#endif

/// The only door to the platform's threads: starting one, and putting one to sleep until there is work.
enum ServiceThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a thread that ends when `body` returns; `false` if the platform has none to give.
    static func begin(_ body: @escaping @Sendable () -> Void) -> Bool {
        let box = Unmanaged.passRetained(Body(body))
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        guard pthread_create(&thread, nil, { Self.enter($0) }, box.toOpaque()) == 0 else {
            box.release()
            return false
        }
        #if canImport(Darwin)
        if let thread { pthread_detach(thread) }
        #else
        pthread_detach(thread)
        #endif
        return true
    }

    private static func enter(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let argument else {
            return nil
        }
        Self.giveWay()
        Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        return nil
    }
}

extension ServiceThread {
    /// Lets all other threads go first from now on: services watch what the SDK does, and must not slow it down.
    private static func giveWay() {
        #if canImport(Darwin)
        pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0)
        #else
        // On Linux 0 means the calling thread, not its process (setpriority(2), "C library/kernel differences").
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
        #endif
    }

    /// A counting semaphore that threads sleep on.
    ///
    /// Unchecked because the compiler cannot see that `count` is only reached between `pthread_mutex_lock` and
    /// `pthread_mutex_unlock`. A ``Lock`` cannot do this: a condition variable needs the bare mutex.
    final class Gate: @unchecked Sendable {
        private let mutex: UnsafeMutablePointer<pthread_mutex_t> = .allocate(capacity: 1)
        private let condition: UnsafeMutablePointer<pthread_cond_t> = .allocate(capacity: 1)
        private var count = 0

        init() {
            self.mutex.initialize(to: pthread_mutex_t())
            self.condition.initialize(to: pthread_cond_t())
            precondition(pthread_mutex_init(self.mutex, nil) == 0, "no mutex to be had")
            #if canImport(Darwin)
            precondition(pthread_cond_init(self.condition, nil) == 0, "no condition variable to be had")
            #else
            var attributes = pthread_condattr_t()
            pthread_condattr_init(&attributes)
            defer { pthread_condattr_destroy(&attributes) }
            // The wall clock may jump; a deadline must not.
            pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
            precondition(pthread_cond_init(self.condition, &attributes) == 0, "no condition variable to be had")
            #endif
        }

        deinit {
            pthread_cond_destroy(self.condition)
            pthread_mutex_destroy(self.mutex)
            self.condition.deinitialize(count: 1)
            self.condition.deallocate()
            self.mutex.deinitialize(count: 1)
            self.mutex.deallocate()
        }

        /// Lets one sleeper through, now or when it comes.
        func signal() {
            pthread_mutex_lock(self.mutex)
            self.count += 1
            pthread_cond_signal(self.condition)
            pthread_mutex_unlock(self.mutex)
        }

        /// Sleeps until let through, or for `limit`; whichever it was, the caller looks for work.
        func wait(atMost limit: Duration? = nil) {
            pthread_mutex_lock(self.mutex)
            defer { pthread_mutex_unlock(self.mutex) }
            guard let limit else {
                while self.count == 0 {
                    pthread_cond_wait(self.condition, self.mutex)
                }
                self.count -= 1
                return
            }
            if self.count == 0, limit > .zero {
                self.sleep(limit)
            }
            if self.count > 0 {
                self.count -= 1
            }
        }

        private func sleep(_ limit: Duration) {
            let (seconds, attoseconds) = min(limit, .seconds(3600)).components
            #if canImport(Darwin)
            var relative = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
            pthread_cond_timedwait_relative_np(self.condition, self.mutex, &relative)
            #else
            var until = timespec()
            clock_gettime(CLOCK_MONOTONIC, &until)
            until.tv_sec += Int(seconds)
            until.tv_nsec += Int(attoseconds / 1_000_000_000)
            if until.tv_nsec >= 1_000_000_000 {
                until.tv_sec += 1
                until.tv_nsec -= 1_000_000_000
            }
            pthread_cond_timedwait(self.condition, self.mutex, &until)
            #endif
        }
    }
}
