package webhooks

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// The headers are those of RFC 9110, sections 15.5.6 (Allow), 10.2.3 (Retry-After) and 7.6.1
// (Connection).
func TestEveryAnswerCarriesItsHeader(t *testing.T) {
	get := request("", secretText)
	get.Method = http.MethodGet
	slow := request(status(1, "sent", noon), secretText)
	slow.Body = io.NopCloser(iotest.ErrReader(os.ErrDeadlineExceeded))
	for name, c := range map[string]struct {
		r            *http.Request
		fail         error
		status       int
		header, want string
	}{
		"method":    {get, nil, 405, "Allow", "POST"},
		"too large": {request(strings.Repeat("x", 2001), secretText), nil, 413, "Connection", "close"},
		"slow":      {slow, nil, 408, "Connection", "close"},
		"full":      {request(status(1, "sent", noon), secretText), errors.New("disk full"), 503, "Retry-After", "5"},
		"signature": {request(status(1, "sent", noon), ""), nil, 401, "Retry-After", ""},
		"taken":     {request(status(1, "sent", noon), secretText), nil, 204, "Connection", ""},
	} {
		i := newIntake(t, &memory{fail: c.fail}, Options{})
		i.bodies.limit = 2000
		stop := start(t, i)
		w := serve(i, c.r)
		if got := w.Header().Get(c.header); w.Code != c.status || got != c.want {
			t.Errorf("%s: %d with %s %q, want %d with %q", name, w.Code, c.header, got, c.status, c.want)
		}
		stop()
	}
}

func TestTheIdentityEncodingIsNoEncoding(t *testing.T) {
	i := newIntake(t, &memory{}, Options{})
	start(t, i)
	for encoding, want := range map[string]int{"": 204, "identity": 204, "gzip": 415, "br": 415} {
		r := request(status(1, "sent", noon), secretText)
		r.Header.Set("Content-Encoding", encoding)
		if got := serve(i, r).Code; got != want {
			t.Errorf("Content-Encoding %q: answered %d, want %d", encoding, got, want)
		}
	}
}

// A body of the longest length is taken, with or without a Content-Length. The buffers grow to it.
func TestABodyMayBeAsLongAsMaxBody(t *testing.T) {
	for _, most := range []int{1000, smallBody, smallBody + 1, 50_000} {
		i := newIntake(t, &memory{}, Options{})
		i.bodies.limit = int64(most)
		stop := start(t, i)
		for length, want := range map[int]int{most - 1: 204, most: 204, most + 1: 413} {
			for _, announced := range []bool{true, false} {
				body := status(1, "sent", noon)
				r := request(body+strings.Repeat(" ", length-len(body)), secretText)
				if !announced {
					r.ContentLength = -1
				}
				if got := serve(i, r).Code; got != want {
					t.Errorf("%d bytes of at most %d, announced = %t: answered %d, want %d", length, most, announced, got, want)
				}
			}
		}
		if used := i.bodies.used.Load(); used != 0 {
			t.Errorf("%d bytes are still reserved, want 0", used)
		}
		stop()
	}
}

// Only bodies longer than 16 KiB count against maxBodies. Each counts with the size of its buffer.
func TestLongBodiesShareTheirMemory(t *testing.T) {
	long := func(n int) *http.Request {
		body := status(1, "sent", noon)
		return request(body+strings.Repeat(" ", n-len(body)), secretText)
	}
	for _, c := range []struct {
		most int64
		body int
		want int
	}{
		{32 << 10, smallBody - 1, 204}, // fits into the small buffer
		{1, smallBody - 1, 204},
		{32 << 10, 20 << 10, 204}, // a buffer of 32 KiB
		{32<<10 - 1, 20 << 10, 503},
		{32 << 10, 40 << 10, 503},
		{64 << 10, 40 << 10, 204},
	} {
		i := newIntake(t, &memory{}, Options{})
		i.bodies.max = c.most
		stop := start(t, i)
		if got := serve(i, long(c.body)).Code; got != c.want {
			t.Errorf("%d bytes with %d to share: answered %d, want %d", c.body, c.most, got, c.want)
		}
		if used := i.bodies.used.Load(); used != 0 {
			t.Errorf("%d bytes are still reserved, want 0", used)
		}
		stop()
	}
}

// counted is a ledger that returns a fixed Applied and takes 3 ms.
type counted struct {
	*memory
	applied campaign.Applied
}

func (c *counted) Apply(ctx context.Context, e campaign.Events) (campaign.Applied, error) {
	time.Sleep(3 * time.Millisecond)
	_, err := c.memory.Apply(ctx, e)
	return c.applied, err
}

func TestCountsAddUpTheResultsOfTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &counted{&memory{}, campaign.Applied{Matched: 3, Repeated: 5, Orphaned: 7}}
		i := newIntake(t, m, Options{Sweep: time.Hour})
		stop := start(t, i)
		began := time.Now()
		post(i, status(1, "sent", time.Now()))
		post(i, `[`+status(1, "sent", time.Now())+`,{"type":"message.status","data":{"messageId":"wamid.A","status":"read"}}]`)
		m.setFail(errors.New("disk full"))
		post(i, status(1, "sent", time.Now()))
		stop()
		c := i.Counts()
		for name, g := range map[string]struct{ got, want any }{
			"Taken":           {c.Taken, uint64(2)},
			"Commits":         {c.Commits, uint64(3)},
			"CommitsFailed":   {c.CommitsFailed, uint64(1)},
			"Matched":         {c.Matched, uint64(6)},
			"Repeated":        {c.Repeated, uint64(10)},
			"Orphaned":        {c.Orphaned, uint64(14)},
			"Waiting":         {c.Waiting, int64(0)},
			"Verified conn_1": {c.Verified["conn_1"], began.Add(6 * time.Millisecond).UTC()},
			"Verified none":   {c.Verified[""], began.Add(3 * time.Millisecond).UTC()},
			"connections":     {len(c.Verified), 2},
			"rejections":      {len(c.Rejected), len(rejections)},
		} {
			if g.got != g.want {
				t.Errorf("%s = %v, want %v", name, g.got, g.want)
			}
		}
	})
}

// An event sets Verified even if it names neither a connection nor a known number.
func TestAnEventWithoutConnectionSetsVerified(t *testing.T) {
	_, c := folded(t, Options{}, `{"type":"message.status","data":{"messageId":"wamid.A","status":"read"}}`)
	if _, there := c.Verified[""]; !there || len(c.Verified) != 1 {
		t.Errorf("verified %v, want one entry without a connection", c.Verified)
	}
}

// The memory of a body that breaks off is released.
func TestABodyThatBreaksOffGivesItsMemoryBack(t *testing.T) {
	i := newIntake(t, &memory{}, Options{})
	start(t, i)
	r := request("{}", secretText)
	r.ContentLength = -1
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader(strings.Repeat("x", 100<<10)), broken{}))
	if got, want := serve(i, r).Code, http.StatusBadRequest; got != want {
		t.Errorf("answered %d, want %d", got, want)
	}
	if used := i.bodies.used.Load(); used != 0 {
		t.Errorf("%d bytes are still reserved, want 0", used)
	}
}
