internal import LinkspanRuntime

/// Suspends the task until it is cancelled.
package func untilCancelled() async {
    let end = Promise<Void>()
    await withTaskCancellationHandler {
        await end.value
    } onCancel: {
        end.fulfill()
    }
}
