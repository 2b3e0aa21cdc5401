internal import Linkspan

/// The rules of topics and filters (section 4.7).
enum MQTTTopic {
    static func isFilter(_ event: some StringProtocol) -> Bool {
        event.hasPrefix("$share/") || event.utf8.contains { "+#".utf8.contains($0) }
    }

    /// Refuses what is no topic, or for a listener no filter either.
    static func check(_ topic: String, isForSending: Bool) throws(LinkspanError) {
        let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
        let isWrong =
            topic.isEmpty || topic.utf8.count > 65_535 || !topic.isMQTTText
            || levels.dropLast().contains("#") || levels.contains { $0.utf8.count > 1 && Self.isFilter($0) }
            || levels[0] == "$share" && (levels.count < 3 || levels[1].isEmpty)
        guard !isWrong, !isForSending || !Self.isFilter(topic) else {
            let name = ForeignText.line(topic)
            throw LinkspanError(.encodingFailed, "'\(name)' is no MQTT topic\(isForSending ? " to send to" : "")")
        }
    }

    /// Matches a topic against a topic filter (section 4.7).
    static func matches(_ filter: String, _ topic: String) -> Bool {
        var levels = filter.split(separator: "/", omittingEmptySubsequences: false)[...]
        if levels.first == "$share" { levels = levels.dropFirst(2) }
        let parts = topic.split(separator: "/", omittingEmptySubsequences: false)
        if topic.hasPrefix("$"), levels.first == "+" || levels.first == "#" { return false }
        for (index, level) in levels.enumerated() {
            if level == "#" { return true }
            guard index < parts.count, level == "+" || level == parts[index] else { return false }
        }
        return levels.count == parts.count
    }
}
