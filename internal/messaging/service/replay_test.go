package service

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

func TestAReplayGoesToOurEndpoints(t *testing.T) {
	for name, c := range map[string]struct {
		refuse map[string]int // status by request
		want   []string
		n      int64
		fails  bool
	}{
		"one of ours is inactive": {refuse: map[string]int{"POST /api/v1/webhooks/w2/replay": 409},
			want: []string{"POST /api/v1/webhooks/w1/replay", "POST /api/v1/webhooks/w2/replay"}, n: 3},
		"not offered": {refuse: map[string]int{"POST /api/v1/webhooks/w1/replay": 405},
			want: []string{"POST /api/v1/webhooks/w1/replay", "POST /api/v1/webhooks/replay"}, n: 3},
		"endpoints cannot be listed": {refuse: map[string]int{"GET /api/v1/webhooks": 404},
			want: []string{"POST /api/v1/webhooks/replay"}, n: 3},
		"a number is missing": {refuse: map[string]int{"POST /api/v1/webhooks/w1/replay": 200},
			want: []string{"POST /api/v1/webhooks/w1/replay", "POST /api/v1/webhooks/w2/replay"}, n: 3, fails: true},
		"the service fails": {refuse: map[string]int{"POST /api/v1/webhooks/w1/replay": 503},
			want: []string{"POST /api/v1/webhooks/w1/replay"}, fails: true},
	} {
		var asked []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			request := r.Method + " " + r.URL.Path
			if status := c.refuse[request]; status != 0 {
				w.WriteHeader(status)
			}
			if r.Method == http.MethodGet {
				_, _ = io.WriteString(w, `{"data":[{"id":"w0","url":"https://a.example/other"},{"id":"w1","url":"https://a.example/in"},`+
					`{"id":"w2","url":"https://b.example/in"}]}`)
				return
			}
			asked = append(asked, request)
			answer := `{"data":{"deliveries":3}}`
			if c.refuse[request] == 200 {
				answer = `{"data":{}}` // it was taken, and the number is missing
			}
			_, _ = io.WriteString(w, answer)
		}))
		n, err := testClient(t, server.URL, Options{}).Replay(t.Context(), "/in", noon, noon.Add(time.Hour))
		server.Close()
		if n != c.n || (err != nil) != c.fails || !slices.Equal(asked, c.want) {
			t.Errorf("%s: got %d, %v after %q; want %d after %q", name, n, err, asked, c.n, c.want)
		}
	}
}
