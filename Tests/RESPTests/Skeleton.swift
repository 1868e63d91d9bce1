// RESPTests
