private import CLinkspanRuntime

/// Dates as cookies have them, in seconds since 1970.
package enum CookieDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    /// The present, by the system's clock.
    package static var now: Int { Int(time(nil)) }

    /// Reads a date in any of the forms that are in use (RFC 6265 section 5.1.1); nil when it is none.
    package static func seconds(_ text: Substring) -> Int? {
        var clock: [Int]?
        var (day, month, year): (Int?, Int?, Int?) = (nil, nil, nil)
        for token in text.split(whereSeparator: Self.isDelimiter) {
            if clock == nil, let found = Self.clock(token) {
                clock = found
            } else if day == nil, let found = Self.number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = Self.months.firstIndex(of: token.prefix(3).lowercased()) {
                month = found + 1
            } else if year == nil, let found = Self.number(token, digits: 2...4) {
                year = found
            }
        }
        guard let clock, let day, let month, var year, (1...31).contains(day) else { return nil }
        if year < 100 { year += year < 70 ? 2000 : 1900 }
        guard year > 1600, clock[0] < 24, clock[1] < 60, clock[2] < 60 else { return nil }
        return ((Self.days(year, month, day) * 24 + clock[0]) * 60 + clock[1]) * 60 + clock[2]
    }

    private static func isDelimiter(_ character: Character) -> Bool {
        guard let byte = character.asciiValue else { return false }
        return switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// Hours, minutes and seconds.
    private static func clock(_ token: Substring) -> [Int]? {
        let parts = token.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].count <= 2, parts[1].count <= 2, let hour = Int(parts[0]),
            let minute = Int(parts[1]), let second = Self.number(parts[2], digits: 1...2)
        else { return nil }
        return [hour, minute, second]
    }

    /// The digits that a token begins with, if there are as many.
    private static func number(_ token: Substring, digits count: ClosedRange<Int>) -> Int? {
        let digits = token.prefix { ("0"..."9").contains($0) }
        return count.contains(digits.count) ? Int(digits) : nil
    }

    /// The days since 1970 in the Gregorian calendar, counted in years that begin in March.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let (year, month) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
        return year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469
    }
}
