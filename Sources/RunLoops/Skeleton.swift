// RunLoops
