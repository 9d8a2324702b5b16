package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestAValueCannotBePrinted(t *testing.T) {
	const canary = "cpd_CANARY_4f1d"
	s := New(canary)
	var out bytes.Buffer
	for _, x := range []any{s, &s, []Value{s}, map[string]Value{"k": s}, struct{ Key, hidden Value }{s, s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			fmt.Fprintf(&out, verb+"\n", x)
		}
		text, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "x", x)
	}
	if text := out.String(); strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
		t.Errorf("got %s, want no secret", text)
	}
	var back Value
	if err := back.UnmarshalText([]byte(canary)); err != nil || back.Reveal() != canary || s.Fingerprint() == New("other").Fingerprint() {
		t.Errorf("got %q, %v; want the secret back, and a fingerprint of its own", back.Reveal(), err)
	}
}

func TestOnlyThisMachineIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "a.localhost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"localhost.example": false, "10.0.0.1": false, "127.0.0.1.example": false, "": false, "0.0.0.0": false,
	} {
		if got := Loopback(host); got != want {
			t.Errorf("%q: got %v, want %v", host, got, want)
		}
	}
}
