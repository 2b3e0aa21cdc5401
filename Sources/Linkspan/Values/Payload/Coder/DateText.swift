/// ISO 8601 dates as JavaScript writes and reads them, as seconds since 1970.
package enum DateText {
    /// The largest distance from 1970 that JavaScript has, in milliseconds.
    private static let range = -8.64e15...8.64e15

    /// Writes `2026-01-31T12:00:00.000Z`; years beyond four digits have a sign and six digits.
    ///
    /// - Returns: nil for a moment that has no such form.
    package static func write(_ seconds: Double) -> String? {
        let milliseconds = (seconds * 1000).rounded()
        guard Self.range.contains(milliseconds) else { return nil }
        let (day, time) = Self.divide(Int64(milliseconds), by: 86_400_000)
        let (year, month, dayOfMonth) = Self.civil(fromDay: day)
        var text: [UInt8] = []
        text.reserveCapacity(27)
        if (0...9999).contains(year) {
            Self.append(year, digits: 4, to: &text)
        } else {
            text.append(UInt8(ascii: year < 0 ? "-" : "+"))
            Self.append(abs(year), digits: 6, to: &text)
        }
        text.append(UInt8(ascii: "-"))
        Self.append(month, digits: 2, to: &text)
        text.append(UInt8(ascii: "-"))
        Self.append(dayOfMonth, digits: 2, to: &text)
        text.append(UInt8(ascii: "T"))
        Self.append(time / 3_600_000, digits: 2, to: &text)
        text.append(UInt8(ascii: ":"))
        Self.append(time / 60_000 % 60, digits: 2, to: &text)
        text.append(UInt8(ascii: ":"))
        Self.append(time / 1000 % 60, digits: 2, to: &text)
        text.append(UInt8(ascii: "."))
        Self.append(time % 1000, digits: 3, to: &text)
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads a date, or answers nil when the text is none.
    static func read(_ text: some Collection<UInt8>) -> Double? {
        var reader = Reader(text[...])
        guard let day = reader.date() else { return nil }
        var seconds = day * 86_400
        var fraction = 0.0
        if !reader.isAtEnd {
            guard reader.take("T") || reader.take("t") || reader.take(" ") else { return nil }
            guard let time = reader.time(), let offset = reader.offset(), reader.isAtEnd else { return nil }
            seconds += time.seconds - offset
            fraction = time.fraction
        }
        return Double(seconds) + fraction
    }

    private static func append(_ number: Int64, digits: Int, to text: inout [UInt8]) {
        var divisor: Int64 = 1
        for _ in 1..<digits { divisor *= 10 }
        while divisor > 0 {
            text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
    }

    private static func divide(_ number: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

// Days and dates by the algorithms of https://howardhinnant.github.io/date_algorithms.html: years begin in March, so that
// the leap day is the last, and 400 of them have 146,097 days.
extension DateText {
    private static func civil(fromDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = Self.divide(day + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func day(year: Int64, month: Int64, day: Int64) -> Int64 {
        let (era, yearOfEra) = Self.divide(month <= 2 ? year - 1 : year, by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func length(ofMonth month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private struct Reader<Text: Collection<UInt8>> where Text.SubSequence == Text {
        private var rest: Text

        init(_ text: Text) { self.rest = text }

        var isAtEnd: Bool { self.rest.isEmpty }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard self.rest.first == UInt8(ascii: character) else { return false }
            self.rest.removeFirst()
            return true
        }

        /// The days since 1970.
        mutating func date() -> Int64? {
            let sign: Int64? = self.take("+") ? 1 : self.take("-") ? -1 : nil
            guard let digits = self.number(digits: sign == nil ? 4 : 6), self.take("-") else { return nil }
            // ISO 8601 has one year 0 only.
            if sign == -1, digits == 0 { return nil }
            let year = digits * (sign ?? 1)
            guard let month = self.number(digits: 2), (1...12).contains(month), self.take("-") else { return nil }
            guard let day = self.number(digits: 2), day >= 1, day <= DateText.length(ofMonth: month, year: year) else {
                return nil
            }
            return DateText.day(year: year, month: month, day: day)
        }

        mutating func time() -> (seconds: Int64, fraction: Double)? {
            guard let hour = self.number(digits: 2), hour < 24, self.take(":") else { return nil }
            guard let minute = self.number(digits: 2), minute < 60 else { return nil }
            var second: Int64 = 0
            var fraction = 0.0
            if self.take(":") {
                guard let seconds = self.number(digits: 2), seconds < 60 else { return nil }
                second = seconds
                if self.take(".") || self.take(",") {
                    guard let digits = self.fraction() else { return nil }
                    fraction = digits
                }
            }
            return (hour * 3600 + minute * 60 + second, fraction)
        }

        /// The seconds ahead of UTC.
        mutating func offset() -> Int64? {
            if self.isAtEnd || self.take("Z") || self.take("z") { return 0 }
            let sign: Int64
            if self.take("+") { sign = 1 } else if self.take("-") { sign = -1 } else { return nil }
            guard let hours = self.number(digits: 2), hours < 24 else { return nil }
            guard !self.isAtEnd else { return sign * hours * 3600 }
            _ = self.take(":")
            guard let minutes = self.number(digits: 2), minutes < 60 else { return nil }
            return sign * (hours * 3600 + minutes * 60)
        }

        private mutating func number(digits: Int) -> Int64? {
            var number: Int64 = 0
            for _ in 0..<digits {
                guard let digit = self.digit() else { return nil }
                number = number * 10 + digit
            }
            return number
        }

        /// The digits behind the point; those beyond a nanosecond count for nothing.
        private mutating func fraction() -> Double? {
            guard var nanoseconds = self.digit() else { return nil }
            var count = 1
            while let digit = self.digit() {
                guard count < 9 else { continue }
                nanoseconds = nanoseconds * 10 + digit
                count += 1
            }
            while count < 9 {
                nanoseconds *= 10
                count += 1
            }
            return Double(nanoseconds) / 1e9
        }

        private mutating func digit() -> Int64? {
            guard let byte = self.rest.first, byte &- UInt8(ascii: "0") < 10 else { return nil }
            self.rest.removeFirst()
            return Int64(byte - UInt8(ascii: "0"))
        }
    }
}
