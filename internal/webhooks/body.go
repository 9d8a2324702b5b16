package webhooks

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
)

// smallBody is the capacity in bytes of the buffers that are used again. One event has 200 to
// 1,500 bytes.
const smallBody = 16 << 10

// bodies reads request bodies whole, because the signature covers the whole body. The sender is not
// verified yet. Memory is therefore allocated only for bytes that have come, and all bodies longer
// than smallBody get at most max bytes together.
type bodies struct {
	limit int64        // bytes of one body
	max   int64        // bytes of all long bodies together
	used  atomic.Int64 // bytes of max that are in use
	small sync.Pool    // of *[]byte with the capacity smallBody
}

// body is a request body that was read. The owner calls release when nothing refers to bytes any
// more.
type body struct {
	bytes    []byte
	reserved int64
	from     *bodies
}

func (b *body) release() {
	b.from.used.Add(-b.reserved)
	if cap(b.bytes) == smallBody {
		buffer := b.bytes[:0]
		b.from.small.Put(&buffer)
	}
	b.bytes = nil
}

// read reads the whole body of r. On a rejection there is nothing to release.
func (s *bodies) read(w http.ResponseWriter, r *http.Request) (body, Rejection) {
	if r.ContentLength > s.limit {
		return body{}, RejectedTooLarge
	}
	b := body{from: s}
	if kept, ok := s.small.Get().(*[]byte); ok {
		b.bytes = *kept
	} else {
		b.bytes = make([]byte, 0, smallBody)
	}
	in := http.MaxBytesReader(w, r.Body, s.limit)
	for {
		if len(b.bytes) == cap(b.bytes) && !s.grow(&b) {
			b.release()
			return body{}, RejectedMemory
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
	if s.used.Add(more) > s.max {
		s.used.Add(-more)
		return false
	}
	b.reserved = size
	grown := make([]byte, len(b.bytes), size)
	copy(grown, b.bytes)
	b.bytes = grown
	return true
}
