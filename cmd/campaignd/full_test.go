package main

// fills is a writer that fails after some writes, as a disk does that becomes full.
type fills struct{ left int }

func (f *fills) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}
