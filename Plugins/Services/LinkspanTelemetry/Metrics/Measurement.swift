#if Metrics
/// One number for the backend.
struct Measurement: Sendable, Hashable {
    enum Value: Sendable, Hashable {
        case count(Int)
        /// As many times as the number says, with their mean.
        case times(Duration, Int = 1)
        case level(Int)
    }

    struct Label: Sendable, Hashable {
        var name: String
        var value: String
    }

    /// All numbers that one instrument takes.
    struct Series: Sendable, Hashable {
        /// The name without the prefix.
        var name: String
        var labels: [Label]
    }

    var series: Series
    var value: Value

    init(_ name: String, _ labels: KeyValuePairs<String, String>, _ value: Value = .count(1)) {
        self.series = Series(name: name, labels: labels.map { Label(name: $0.key, value: $0.value) })
        self.value = value
    }
}
#endif
