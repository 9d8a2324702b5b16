//go:build unix

package messaging

import (
	"errors"
	"io"
	"syscall"
	"time"
)

// listenFor is how long silent listens to a connection that is no socket. A net.Pipe tells its end
// at once. Others are not looked at: another send could need the connection meanwhile.
const listenFor = 0 * time.Second

// pending reports whether bytes have come in that nobody has read. The error is io.EOF after the
// peer has closed, and errors.ErrUnsupported if the connection is no socket.
func (w *wire) pending() (something bool, err error) {
	if w.look == nil {
		c, ok := w.Conn.(syscall.Conn)
		if !ok {
			return false, errors.ErrUnsupported
		}
		raw, err := c.SyscallConn()
		if err != nil {
			return false, err
		}
		w.look = look(raw)
	}
	return w.look()
}

// look returns a function that looks at a socket. Each send calls it, so it allocates nothing.
func look(raw syscall.RawConn) func() (bool, error) {
	var one [1]byte
	var n int
	var failed error
	peek := func(fd uintptr) bool {
		for {
			n, _, failed = syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			if !errors.Is(failed, syscall.EINTR) {
				return true
			}
		}
	}
	return func() (something bool, err error) {
		switch err := raw.Read(peek); {
		case err != nil:
			return false, err
		case errors.Is(failed, syscall.EAGAIN):
			return false, nil
		case failed != nil:
			return false, failed
		case n == 0:
			return false, io.EOF
		}
		return true, nil
	}
}
