internal import Dispatch

/// Waits for something that blocks, on a thread where blocking harms nobody.
func blocking(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
            body()
            continuation.resume()
        }
    }
}
