internal import LinkspanTesting

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Android)
internal import Android
#endif

/// Puts tasks on a virtual clock: greetings and credential providers are asynchronous, and a simulation has one thread.
///
/// While ``run(on:_:)`` is under way, whatever its thread makes ready to run becomes work that is due now. That rests
/// on the hook which the concurrency runtime has for this purpose; other threads are not concerned.
enum SimulatedTasks {
    private final class Place {
        let scheduler: VirtualScheduler

        init(_ scheduler: VirtualScheduler) { self.scheduler = scheduler }

        func enqueue(_ job: UnownedJob) {
            self.scheduler.schedule(after: .zero) {
                job.runSynchronously(on: NowhereElse.shared.asUnownedTaskExecutor())
            }
        }
    }

    /// Stands for the place where jobs of a simulation run; what is sent to it goes the usual way.
    private final class NowhereElse: TaskExecutor {
        static let shared = NowhereElse()

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            if let place = SimulatedTasks.place {
                place.enqueue(job)
            } else {
                job.runSynchronously(on: self.asUnownedTaskExecutor())
            }
        }
    }

    private typealias Original = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    private static var place: Place? {
        pthread_getspecific(self.key).map { Unmanaged<Place>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Whether tasks can be simulated here.
    static let isPossible: Bool = {
        guard let hook = dlsym(nil, "swift_task_enqueueGlobal_hook") else { return false }
        hook.assumingMemoryBound(to: Hook?.self).pointee = { job, original in
            if let place = SimulatedTasks.place { place.enqueue(job) } else { original(job) }
        }
        return true
    }()

    /// Runs `body` on this thread, with the tasks that it gives rise to.
    static func run(on scheduler: VirtualScheduler, _ body: () throws -> Void) rethrows {
        let place = Place(scheduler)
        if self.isPossible { pthread_setspecific(self.key, Unmanaged.passUnretained(place).toOpaque()) }
        defer { if self.isPossible { pthread_setspecific(self.key, nil) } }
        try withExtendedLifetime(place) { try body() }
    }
}
