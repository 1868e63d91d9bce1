// Proves that a job's name has one spelling.

import Jobs
import Testing

@Suite struct `A job's id` {
    @Test(arguments: [1, 9, 10, 4_711, UInt64.max])
    func `is read back as it is written`(number: UInt64) {
        let id = JobID(number)
        #expect(JobID(bytes: Array(id.description.utf8)) == id)
    }

    @Test(
        arguments: [
            "", "0", "01", "-1", "+1", " 1", "1 ", "1.0", "0x1", "abc", "١",
            "18446744073709551616", "99999999999999999999999",
        ])
    func `is nothing but a positive number in plain decimal`(text: String) {
        #expect(JobID(bytes: text.utf8) == nil)
    }

    @Test func `grows with the number`() {
        #expect(JobID(9) < JobID(10))
    }
}
