package sender

import (
	"syscall"
	"time"
)

// threadTime is the processor time of the calling thread; the caller holds it with
// runtime.LockOSThread.
func threadTime() time.Duration {
	const rusageThread = 1 // RUSAGE_THREAD of getrusage(2)
	return usage(rusageThread)
}

// processTime is the processor time of the whole process.
func processTime() time.Duration { return usage(syscall.RUSAGE_SELF) }

func usage(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
