// StructuresTests
