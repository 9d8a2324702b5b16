package arrival

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceReceived returns how long ago the socket got data, 0 if the kernel does not tell. An end of
// the connection is no data (tcpi_last_data_recv of struct tcp_info, in milliseconds,
// https://man7.org/linux/man-pages/man7/tcp.7.html).
func sinceReceived(fd int) time.Duration {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return 0
	}
	return time.Duration(info.Last_data_recv) * time.Millisecond
}
