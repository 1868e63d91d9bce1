// From responses to bytes: the server's half of writing. Appends to an array that the caller owns.

/// The head of a response.
package struct ResponseHead: Sendable {
    /// Fields beside those of every response, in the order in which they are sent.
    package typealias Fields = [(name: String, value: String)]

    package let status: HTTPStatus
    /// The kind of the body, such as `text/plain; charset=utf-8`; nil if there is none.
    package let contentType: String?
    package let fields: Fields

    /// Describes a response.
    package init(_ status: HTTPStatus, _ contentType: String? = nil, _ fields: Fields = []) {
        self.status = status
        self.contentType = contentType
        self.fields = fields
    }
}

/// Appends responses to a byte array.
package enum ResponseWriter {
    /// The word that a client waits for before it sends a body.
    package static let goOn = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// Appends the head of a response, behind which its body is sent.
    ///
    /// - Parameters:
    ///   - bodyByteCount: the length of the body that a GET gets; nil for one that ends with the
    ///     connection.
    ///   - request: the head that is answered; nil if there is none, or none that could be read.
    ///   - keepsAlive: whether the connection stays open.
    ///   - unixSeconds: the present time.
    /// - Returns: whether the body is sent: a HEAD gets its length only.
    package static func writeHead(
        _ response: ResponseHead, bodyByteCount: Int?, to request: RequestHead?, keepsAlive: Bool,
        unixSeconds: Int64, _ output: inout [UInt8]
    ) -> Bool {
        func field(_ name: String, _ value: String) {
            output += name.utf8
            output += ": ".utf8
            // Nothing in a value can pass for another field or a body.
            output += value.utf8.map { $0 < HTTPByte.space || $0 == 0x7F ? HTTPByte.space : $0 }
            output += "\r\n".utf8
        }
        output += "HTTP/1.1 \(response.status.rawValue) \(response.status.phrase)\r\n".utf8
        field("Date", HTTPDate.text(unixSeconds: unixSeconds))
        if let type = response.contentType { field("Content-Type", type) }
        if response.status.hasBody, let bodyByteCount {
            field("Content-Length", "\(bodyByteCount)")
        }
        for (name, value) in response.fields { field(name, value) }
        // Said where it is not the rule of the client's version.
        if !keepsAlive {
            field("Connection", "close")
        } else if request?.version == .http10 {
            field("Connection", "keep-alive")
        }
        output += "\r\n".utf8
        return request?.method != .head && response.status.hasBody
    }
}

/// The date of a response (RFC 9110, section 5.6.7).
enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let secondsOfDay: Int64 = 86_400

    /// `Thu, 01 Jan 1970 00:00:00 GMT` for 0.
    static func text(unixSeconds: Int64) -> String {
        let seconds = max(0, unixSeconds)
        let day = Int(seconds / secondsOfDay)
        let time = Int(seconds % secondsOfDay)
        var (year, dayOfYear) = (1970, day)
        while dayOfYear >= length(ofYear: year) {
            dayOfYear -= length(ofYear: year)
            year += 1
        }
        var month = 0
        while dayOfYear >= length(ofMonth: month, in: year) {
            dayOfYear -= length(ofMonth: month, in: year)
            month += 1
        }
        let clock = [time / 3_600, time / 60 % 60, time % 60].map(twoDigits)
        return "\(days[day % 7]), \(twoDigits(dayOfYear + 1)) \(months[month]) \(year) "
            + "\(clock.joined(separator: ":")) GMT"
    }

    private static func isLeap(_ year: Int) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    private static func length(ofYear year: Int) -> Int { isLeap(year) ? 366 : 365 }

    private static func length(ofMonth month: Int, in year: Int) -> Int {
        if month == 1 { return isLeap(year) ? 29 : 28 }
        return [3, 5, 8, 10].contains(month) ? 30 : 31
    }

    private static func twoDigits(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}
