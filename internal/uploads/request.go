package uploads

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// Plain returns the last 80 characters of a file's name. All but ASCII letters, digits, dots and
// hyphens become _.
func Plain(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '.' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '_'
	}, name)
	return name[max(0, len(name)-80):]
}

// Stall is the longest time without a byte of a body.
const Stall = 30 * time.Second

// Moving returns the body of a request without a time limit while data arrives. w answers it.
func Moving(w http.ResponseWriter, body io.ReadCloser) io.ReadCloser {
	return &moving{body, http.NewResponseController(w)}
}

// moving is a body without a time limit while data arrives.
type moving struct {
	io.ReadCloser
	c *http.ResponseController
}

func (m *moving) Read(p []byte) (int, error) {
	if err := m.c.SetReadDeadline(time.Now().Add(Stall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return m.ReadCloser.Read(p)
}

// WithoutPath removes the folder of an upload from a text, because the caller knows the files by
// their own names.
func WithoutPath(text, dir string) string {
	if dir == "" {
		return text
	}
	return strings.NewReplacer(dir+"/"+CampaignPrefix, "", dir+"/"+ListPrefix, "", dir+"/", "").Replace(text)
}
