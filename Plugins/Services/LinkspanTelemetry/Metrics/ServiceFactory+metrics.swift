#if Metrics
public import CoreMetrics
internal import Linkspan
public import LinkspanMessaging

extension ServiceFactory {
    /// The service `metrics`, which counts and times connections, messages and queues, for any back end of swift-metrics.
    ///
    /// Every name begins with the prefix, `linkspan` by default:
    ///
    /// | name | kind | labels | meaning |
    /// | --- | --- | --- | --- |
    /// | `connects_total` | counter | `endpoint` | a connection opened for the first time |
    /// | `reconnects_total` | counter | `endpoint` | a connection opened again |
    /// | `disconnects_total` | counter | `endpoint`, `code` | a connection that was up went down; `requested` without an error |
    /// | `failed_attempts_total` | counter | `endpoint`, `code` | a connection that was down stays so |
    /// | `handshake_time` | timer | `endpoint` | from the attempt to the open connection |
    /// | `ping_time` | timer | `endpoint` | the round trip by the wire's ping or the connection's probe |
    /// | `sent_total`, `sent_bytes_total` | counter | `endpoint` | messages that a link took |
    /// | `received_total`, `received_bytes_total` | counter | `endpoint` | received messages |
    /// | `delivered_total` | counter | `endpoint` | messages that the server confirmed |
    /// | `round_trip_time` | timer | `endpoint` | how long the confirmation took |
    /// | `timed_out_total` | counter | `endpoint` | messages without an answer in time |
    /// | `expired_total` | counter | `endpoint` | messages that waited too long to be sent |
    /// | `dropped_total` | counter | `endpoint` | messages that were given up |
    /// | `queue_depth` | gauge | `endpoint` | commands that waited to be sent at the last report |
    /// | `faults_total` | counter | `code`, `severity` | faults that were not returned to a caller |
    /// | `events_missed_total` | counter | `family` | events that this service missed, so that the others count too low |
    ///
    /// Labels are bounded: endpoints are without query and credentials, names of events and texts are no labels at all, and
    /// the sixty-fifth value of a label becomes `other`. State that is replayed to a late service is not counted again.
    ///
    /// Counts of messages are exact. They come as running totals, so round trips are recorded as the mean of each interval, as often as
    /// there were any.
    ///
    /// Its option is `prefix`, the prefix of every name, `linkspan` by default.
    ///
    /// - Parameter factory: where measurements go; nil for the backend of the process when the service is made.
    /// - Returns: the factory.
    public static func metrics(factory: (any MetricsFactory)? = nil) -> ServiceFactory {
        ServiceFactory(
            "metrics",
            options: [
                PluginOption("prefix", default: "linkspan", isHot: true, "The prefix of every metric's name.")
            ]
        ) { values throws(LinkspanError) in
            MetricsService(prefix: try MetricsService.prefix(values), factory: factory)
        } reconfigure: {
            // Counts under the former one stay there.
            await $0.use(prefix: try MetricsService.prefix($1))
        }
    }
}

extension MetricsService {
    /// The prefix that configuration has given.
    fileprivate static func prefix(_ values: OptionValues) throws(LinkspanError) -> String {
        guard let prefix: String = values["prefix"] else { return Self.usualPrefix }
        guard prefix.wholeMatch(of: #/[A-Za-z][A-Za-z0-9_.]*/#) != nil else {
            throw LinkspanError(
                .invalidConfiguration,
                "'prefix' must begin with a letter and hold letters, digits, '_' and '.' only")
        }
        return prefix
    }
}
#else
public import LinkspanMessaging

extension ServiceFactory {
    /// The service `metrics`, which is not built in.
    @available(*, unavailable, message: "not built in: switch the trait Metrics of the package linkspan on")
    public static func metrics() -> ServiceFactory { fatalError("not built in") }
}
#endif
