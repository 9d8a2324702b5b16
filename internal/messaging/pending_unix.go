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
	c, ok := w.Conn.(syscall.Conn)
	if !ok {
		return false, errors.ErrUnsupported
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false, err
	}
	n, failed := 0, error(nil)
	err = raw.Read(func(fd uintptr) bool {
		var one [1]byte
		for {
			n, _, failed = syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			if !errors.Is(failed, syscall.EINTR) {
				return true
			}
		}
	})
	switch {
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
