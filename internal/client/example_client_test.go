package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"campaignd/campaign"
	"campaignd/internal/client"
)

// A program lists the unfinished runs of a campaignd, and pauses each. Here a test server stands
// for the admin listener.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "GET /api/v1/runs":
			fmt.Fprint(w, `{"data": [{"id": "spring-3", "state": "running"}, {"id": "orders-7", "state": "ready"}]}`)
		case "POST /api/v1/runs/spring-3/pause":
			fmt.Fprint(w, `{"data": {"run": {"id": "spring-3"}, "sentence": "spring-3 pauses"}}`)
		default:
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"error": "not_now", "message": "orders-7 is cancelled"}`)
		}
	}))
	defer server.Close()

	c, err := client.New(server.URL, "cpd_3f9a1c02_...", client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	runs, err := c.Runs(ctx, campaign.RunFilter{Unfinished: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range runs {
		done, err := c.Pause(ctx, r.ID)
		var refused *client.Error
		switch {
		case errors.As(err, &refused) && refused.Code == client.CodeNotNow:
			fmt.Println("left as it is:", refused.Message)
		case err != nil:
			fmt.Println(err)
			return
		default:
			fmt.Println(done.Sentence)
		}
	}
	// Output:
	// spring-3 pauses
	// left as it is: orders-7 is cancelled
}
