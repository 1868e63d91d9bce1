// A stack of retained objects in linked pages. Pure: knows neither threads nor pools.

/// Retained objects, the last one on top, in pages of 4096 bytes of which each knows the one below.
///
/// Nothing is allocated but a page for every 511 objects, and one empty page is kept for the next
/// ones.
@safe final class ObjectPages {
    static let pageByteCount = 4_096
    /// A page begins with the address of the page below it; the rest is objects.
    static let objectsPerPage = pageByteCount / MemoryLayout<UInt>.stride - 1

    private typealias Page = UnsafeMutablePointer<UnsafeMutableRawPointer?>

    /// Objects in it.
    private(set) var count = 0
    /// Pages allocated, the spare one among them.
    private(set) var pageCount = 0
    private var top: Page?
    private var spare: Page?
    /// Objects in the top page; that of no page is full.
    private var countInTop = objectsPerPage

    deinit {
        while popLast() != nil {}
        unsafe free(spare)
    }

    /// Retains an object and puts it on top.
    ///
    /// - Complexity: O(1).
    func push(_ object: AnyObject) {
        if countInTop == Self.objectsPerPage { addPage() }
        guard let top = unsafe top else { fatalError("a page was just added") }
        countInTop += 1
        count += 1
        unsafe top[countInTop] = Unmanaged.passRetained(object).toOpaque()
    }

    /// Takes the object on top; letting go of what this returns releases it.
    ///
    /// - Complexity: O(1).
    func popLast() -> AnyObject? {
        guard let top = unsafe top, let object = unsafe (top[countInTop]) else { return nil }
        countInTop -= 1
        count -= 1
        if countInTop == 0 { unsafe removePage(top) }
        return unsafe Unmanaged<AnyObject>.fromOpaque(object).takeRetainedValue()
    }

    private func addPage() {
        let page: Page
        if let spare = unsafe spare {
            unsafe page = spare
            unsafe self.spare = nil
        } else {
            unsafe page = Page.allocate(capacity: Self.objectsPerPage + 1)
            unsafe page.initialize(repeating: nil, count: Self.objectsPerPage + 1)
            pageCount += 1
        }
        unsafe page[0] = UnsafeMutableRawPointer(top)
        unsafe top = page
        countInTop = 0
    }

    private func removePage(_ page: Page) {
        unsafe top = page[0]?.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
        countInTop = Self.objectsPerPage
        unsafe free(spare)
        unsafe spare = page
    }

    private func free(_ page: Page?) {
        guard let page = unsafe page else { return }
        unsafe page.deallocate()
        pageCount -= 1
    }
}
