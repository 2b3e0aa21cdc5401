#if ServiceLifecycle
internal import LinkspanLifecycle
internal import ServiceLifecycle

/// The time that something runs in a service group: it is started, is there until it is to go, and is stopped.
struct Residence<Resident: Sendable>: Sendable {
    let start: @Sendable () async throws -> Resident
    let onReady: @Sendable (Resident) async throws -> Void
    /// Returns within a budget, whether or not the task is cancelled.
    let stop: @Sendable (Resident) async -> Void

    /// Returns when the group shuts down, or when the task is cancelled; the way out is the same.
    ///
    /// Rethrows errors of the start, unless the shutdown cancelled it, and those of `onReady`.
    func run() async throws {
        let resident: Resident
        do {
            let start = self.start
            resident = try await cancelWhenGracefulShutdown { try await start() }
        } catch {
            // What had been started has been stopped again.
            guard error.isGivenUpStart, Task.isCancelled || Task.isShuttingDownGracefully else { throw error }
            return
        }
        do {
            try await self.onReady(resident)
            try await gracefulShutdown()
        } catch {
            await self.stop(resident)
            guard error is CancellationError, Task.isCancelled else { throw error }
            return
        }
        await self.stop(resident)
    }
}
#endif
