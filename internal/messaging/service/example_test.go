package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
)

// The example sends one message that is accepted, and one whose recipient cannot be reached.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n, _ := io.Copy(io.Discard, r.Body); n > 130 {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error":"send_recipient_permanent","message":"Unreachable.",
				"meta":{"errorClass":"recipient_permanent","code":131026,"retryable":false}}`)
			return
		}
		io.WriteString(w, `{"data":{"messageId":"wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJXSVJFMDAwMDAwMDAwMDAwMDEA"}}`)
	}))
	defer server.Close()

	client, err := service.New(service.Options{BaseURL: server.URL, APIKey: messaging.NewSecret("key")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	for _, order := range []string{"A-1001", "A-1001, A-1002 and A-1003"} {
		receipt, err := client.Send(context.Background(), &messaging.Message{
			ConnectionID: "conn_1",
			To:           "+15555550101",
			Template:     &messaging.Template{Name: "order_ready", Language: "en_US", Body: []string{order}},
		})
		var refused *messaging.Error
		if errors.As(err, &refused) {
			fmt.Println(refused.Proof == messaging.NotSent, refused.Action == messaging.Refuse, messaging.Sentence(refused.Code))
			continue
		}
		fmt.Println("accepted", messaging.RecipientOfID(receipt.MessageID))
	}
	// Output:
	// accepted 15555550101
	// true true the recipient cannot be reached on the platform
}
