// Forms of values of jobs that the tests of the scheduler, the stores and the daemon share.

package import Jobs

extension WindowLimits {
    /// A small window, of which simulations see all sides.
    ///
    /// - Parameter countMax: how many jobs, at least 2.
    package init(countMax: Int) {
        self.init()
        self.countMax = countMax
        loadCountMax = max(1, countMax / 2)
        countedAtOnce = countMax
        changedAtOnce = max(1, countMax / 2)
    }
}

extension Job {
    /// The request, for its slot, without its time and its unique name.
    package var request: JobRequest {
        var request = JobRequest(
            thread: slot, selector: selector, payload: payload, priority: priority,
            options: details.options)
        request.isVolatile = details.isVolatile
        return request
    }
}
