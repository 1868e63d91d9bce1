// The threads that run the tasks of the tests. Linked into tests only.
#pragma once

/// How many there are: twice as many as tests are under way, so that a test's child tasks run while
/// all tests block.
enum { test_threads_count = 24 };
