package doctor

import (
	"testing"

	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
	"campaignd/internal/sandbox"
	"campaignd/internal/sandbox/inprocess"
)

func TestTheDoctorNamesWhatIsAssumed(t *testing.T) {
	emulated, err := sandbox.New(sandbox.Demo())
	if err != nil {
		t.Fatal(err)
	}
	for numbers, want := range map[string]string{
		"": "numbers, templates, webhooks", "/api/v1/health": "templates, webhooks; not offered: numbers",
	} {
		c, err := service.New(service.Options{BaseURL: "http://127.0.0.1:1", APIKey: messaging.NewSecret(sandbox.DemoKey),
			Transport: inprocess.NewTransport(emulated), Assumed: service.Assumed{Paths: map[string]string{"numbers": numbers}}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		connections, err := c.Connections(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := checkAssumed(t.Context(), c, connections); got.Health != HealthOK || got.Detail != want {
			t.Errorf("numbers at %q: got %+v, want ok and %q", numbers, got, want)
		}
	}
}
