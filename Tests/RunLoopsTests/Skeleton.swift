// RunLoopsTests
