package messaging

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// An index that was noted with the old secrets names the same secret among the new ones.
func TestARenewedSecretKeepsItsIndex(t *testing.T) {
	secret := func(n int) Secret { return NewSecret(fmt.Sprintf("secret %02d of 32 characters, or so", n)) }
	v, err := NewVerifier(SignatureForm{}, secret(0), secret(1))
	if err != nil {
		t.Fatal(err)
	}
	index := func(s Secret) int {
		mac := hmac.New(sha256.New, []byte(s.Reveal()))
		mac.Write([]byte("{}"))
		got, _ := v.Verify(http.Header{"X-Service-Signature": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}}, []byte("{}"), time.Now())
		return got
	}
	if err := v.Renew(secret(2), secret(1)); err != nil {
		t.Fatal(err)
	}
	if a, b, c := index(secret(0)), index(secret(1)), index(secret(2)); a != -1 || b != 1 || c != 2 || len(v.Secrets()) != 3 {
		t.Errorf("got the indexes %d, %d, %d of %d secrets, want -1, 1, 2 of 3", a, b, c, len(v.Secrets()))
	}
	for n := 3; n < MaxSecrets; n++ {
		if err := v.Renew(secret(n)); err != nil {
			t.Fatalf("secret %d: got %v, want no error", n, err)
		}
	}
	err = v.Renew(secret(MaxSecrets))
	if err == nil || !strings.Contains(err.Error(), "restart") || index(secret(MaxSecrets-1)) != MaxSecrets-1 {
		t.Errorf("one secret more: got %v, want that it is refused and the last one stays", err)
	}
}
