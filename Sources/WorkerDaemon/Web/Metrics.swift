// Figures for Prometheus, in its text format.

extension Service {
    func metrics() -> String { "" }
}

enum Metrics {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"
}
