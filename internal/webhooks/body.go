package webhooks

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// smallBody is the capacity in bytes of the buffers that are used again. One event has 200 to
// 1,500 bytes.
const smallBody = 16 << 10

// bodies reads request bodies whole, because the signature covers the whole body. The sender is not
// verified yet, so memory is allocated only as bytes come. All bodies longer than smallBody
// together get at most max bytes, the long bodies of one address at most share. They must come at
// leastRate.
type bodies struct {
	limit int64        // bytes of one body
	max   int64        // bytes of all long bodies together
	used  atomic.Int64 // bytes of max that are in use
	small sync.Pool    // of *[]byte with the capacity smallBody

	mu sync.Mutex
	of map[string]int64 // bytes of used by address
}

// leastRate is the rate in bytes per second at which a long body must come, after rateGrace. The
// longest body takes at most 1 s + 4 MiB / (1 MiB/s) = 5 s, half of answerTime.
const (
	leastRate = 1 << 20
	rateGrace = time.Second
)

// body is a request body that was read. The owner calls release when nothing refers to bytes any
// more.
type body struct {
	bytes    []byte
	reserved int64
	from     *bodies
	address  string
}

func (b *body) release() {
	b.from.reserve(b.address, -b.reserved)
	b.from.keep(b.bytes)
	b.bytes = nil
}

// keep keeps a buffer that can be used again.
func (s *bodies) keep(buffer []byte) {
	if cap(buffer) == smallBody {
		buffer = buffer[:0]
		s.small.Put(&buffer)
	}
}

// share is how many bytes of max one address gets: a quarter, and one body of the longest length at
// least.
func (s *bodies) share() int64 { return max(s.max/4, min(s.limit+1, s.max)) }

// reserve takes more bytes of max for an address. A negative number gives bytes back. It reports
// false when not enough is left.
func (s *bodies) reserve(address string, more int64) bool {
	if more == 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if more > 0 && (s.used.Load()+more > s.max || s.of[address]+more > s.share()) {
		return false
	}
	if s.of == nil {
		s.of = map[string]int64{}
	}
	s.used.Add(more)
	if s.of[address] += more; s.of[address] == 0 {
		delete(s.of, address)
	}
	return true
}

// read reads the whole body of r, and stops at received plus answerTime. After a rejection there is
// nothing to release.
func (s *bodies) read(w http.ResponseWriter, r *http.Request, received time.Time) (body, Rejection) {
	if r.ContentLength > s.limit {
		return body{}, RejectedTooLarge
	}
	// A ResponseWriter without deadlines, such as a recorder, returns an error here; the server
	// has a ReadTimeout.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(received.Add(answerTime))
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	b := body{from: s, address: address}
	if kept, ok := s.small.Get().(*[]byte); ok {
		b.bytes = *kept
	} else {
		b.bytes = make([]byte, 0, smallBody)
	}
	in := http.MaxBytesReader(w, r.Body, s.limit)
	for {
		if len(b.bytes) == cap(b.bytes) {
			if !s.grow(&b) {
				b.release()
				return body{}, RejectedMemory
			}
			full := rateGrace + time.Duration(cap(b.bytes))*time.Second/leastRate // when the new buffer must be full
			_ = control.SetReadDeadline(received.Add(min(answerTime, full)))
		}
		n, err := in.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		switch {
		case err == nil:
			continue
		case err == io.EOF:
			return b, ""
		}
		b.release()
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return body{}, RejectedTooLarge
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return body{}, RejectedSlow
		}
		return body{}, RejectedBroken
	}
}

// grow doubles the buffer, if memory for it is left.
func (s *bodies) grow(b *body) bool {
	size := min(int64(cap(b.bytes))*2, s.limit+1)
	more := size - b.reserved
	if !s.reserve(b.address, more) {
		return false
	}
	b.reserved = size
	grown := make([]byte, len(b.bytes), size)
	copy(grown, b.bytes)
	s.keep(b.bytes)
	b.bytes = grown
	return true
}
