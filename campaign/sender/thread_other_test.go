//go:build !linux

package sender

import "time"

// threadTime and processTime are 0: only Linux tells the time of a thread.
func threadTime() time.Duration  { return 0 }
func processTime() time.Duration { return 0 }
