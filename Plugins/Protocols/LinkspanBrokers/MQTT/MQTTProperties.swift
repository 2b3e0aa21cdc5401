internal import Linkspan

/// A property of a packet (section 2.2.2.2).
enum MQTTProperty: UInt8, Sendable, CaseIterable {
    case payloadFormat = 0x01, messageExpiry, contentType, responseTopic = 0x08, correlation, subscription = 0x0B
    case sessionExpiry = 0x11, clientID, keepAlive, authenticationMethod = 0x15, authenticationData, explainsProblems
    case willDelay, asksForResponses, responseInformation, otherServer = 0x1C, reason = 0x1F, receiveMaximum = 0x21
    case aliasMaximum, alias, highestQuality, takesRetained, user, largestPacket, takesFilters, takesNumbers,
        takesShares

    /// The bytes of those that are numbers; most others are bytes with their count, such as text.
    fileprivate static let widths: [Self: Int] = [
        .payloadFormat: 1, .messageExpiry: 4, .sessionExpiry: 4, .keepAlive: 2, .explainsProblems: 1, .willDelay: 4,
        .asksForResponses: 1, .receiveMaximum: 2, .aliasMaximum: 2, .alias: 2, .highestQuality: 1, .takesRetained: 1,
        .largestPacket: 4, .takesFilters: 1, .takesNumbers: 1, .takesShares: 1,
    ]
}

/// The properties of a packet.
struct MQTTProperties: Sendable {
    var numbers: [MQTTProperty: UInt32] = [:]
    /// Texts and other bytes.
    var data: [MQTTProperty: ArraySlice<UInt8>] = [:]
    /// The numbers of the subscriptions that a message comes for.
    var subscriptions: [UInt32] = []
    /// The user properties, of which the last of a name counts.
    var user: [String: String] = [:]

    func text(_ property: MQTTProperty) throws(LinkspanError) -> String? {
        guard let bytes = self.data[property] else { return nil }
        guard let text = String(utf8: bytes) else { throw MQTTPacket.violation("a property is not UTF-8") }
        return text
    }
}

extension MQTTPacket {
    /// Reads properties; none at the end of a packet.
    mutating func properties() throws(LinkspanError) -> MQTTProperties {
        var properties = MQTTProperties()
        guard self.isV5, !self.isAtEnd else { return properties }
        var inner = try self.part(Int(try self.variable()))
        while !inner.isAtEnd {
            let number = try inner.byte()
            guard let property = MQTTProperty(rawValue: number) else {
                throw Self.violation("property \(number) is not known")
            }
            switch (property, MQTTProperty.widths[property]) {
            case (.subscription, _): properties.subscriptions.append(try inner.variable())
            case (.user, _):
                let name = try inner.text()
                properties.user[name] = try inner.text()
            case (_, let width?): properties.numbers[property] = try inner.number(width)
            case (_, nil): properties.data[property] = try inner.data()
            }
            guard properties.subscriptions.count + properties.user.count <= 1_024 else {
                throw Self.violation("a packet has too many properties")
            }
        }
        return properties
    }

    /// Writes properties, which are nothing before version 5.
    mutating func append(_ properties: MQTTProperties) throws(LinkspanError) {
        guard self.isV5 else { return }
        var inner = Self(self.kind, isV5: true)
        for property in MQTTProperty.allCases {
            if let number = properties.numbers[property], let width = MQTTProperty.widths[property] {
                inner.append(property)
                inner.append(number, bytes: width)
            } else if let data = properties.data[property] {
                inner.append(property)
                try inner.append(data)
            }
        }
        for number in properties.subscriptions {
            inner.append(.subscription)
            inner.append(variable: number)
        }
        for (name, value) in properties.user.sorted(by: { $0.key < $1.key }) {
            inner.append(.user)
            try inner.append(name)
            try inner.append(value)
        }
        self.append(part: inner)
    }

    private mutating func append(_ property: MQTTProperty) { self.append(UInt32(property.rawValue), bytes: 1) }

    /// Reads a reason code as an error, nil for a success, and properties; a success may have neither.
    mutating func outcome(
        of what: String
    ) throws(LinkspanError) -> (error: LinkspanError?, properties: MQTTProperties) {
        let code = self.isAtEnd ? 0 : try self.byte()
        let properties = try self.properties()
        return (MQTTReason.error(code, isV5: self.isV5, of: what, try properties.text(.reason)), properties)
    }
}
