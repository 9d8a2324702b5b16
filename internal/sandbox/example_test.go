package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"campaignd/internal/sandbox"
)

// The example runs a sandbox on a real port, with an endpoint for its webhooks, and sends one
// message.
func Example() {
	hooks := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) // answers 200 to everything
	defer hooks.Close()

	fast := sandbox.Delay{Median: time.Millisecond}
	s, err := sandbox.New(sandbox.Options{
		WebhookURL: hooks.URL,
		Statuses:   sandbox.StatusProfile{Sent: fast, Delivered: fast, Read: fast},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	service := httptest.NewServer(s)
	defer service.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()

	body := `{"connectionId": "conn_1", "to": "+2348031234567",
		"template": {"name": "order_update", "language": "en_US", "body": ["Ada", "A-1001"]}}`
	req, err := http.NewRequestWithContext(ctx, "POST", service.URL+"/api/v1/messages", strings.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+sandbox.DemoKey)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "example/1.0") // the default agent is refused with 1010
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	var answer struct {
		Data struct {
			MessageID string `json:"messageId"`
		} `json:"data"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Settle(ctx); err != nil { // until all webhooks are answered
		fmt.Println(err)
		return
	}
	m, _ := s.Message(answer.Data.MessageID)
	fmt.Println(res.StatusCode, m.To, m.Values)
	for _, st := range m.Statuses {
		fmt.Println(st.Name, !st.AckedAt.IsZero())
	}
	cancel()
	fmt.Println(<-ran)
	// Output:
	// 200 +2348031234567 [Ada A-1001]
	// sent true
	// delivered true
	// read true
	// <nil>
}
