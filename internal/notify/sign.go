package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"campaignd/internal/messaging"
)

// Bounds of a key in bytes
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
const (
	leastKey = 24
	mostKey  = 64
)

// keyOf reads a signing secret: whsec_ and base64.
func keyOf(s messaging.Secret) ([]byte, error) {
	text, ok := strings.CutPrefix(s.Reveal(), "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	switch {
	case !ok || err != nil:
		return nil, errors.New("want whsec_ and base64, such as `echo whsec_$(openssl rand -base64 32)` draws")
	case len(key) < leastKey || len(key) > mostKey:
		return nil, fmt.Errorf("it has %d bytes; want %d to %d, such as `echo whsec_$(openssl rand -base64 32)` draws",
			len(key), leastKey, mostKey)
	}
	return key, nil
}

// sign sets the three headers. Each secret gives one signature, so that a receiver may know either
// while one is rotated.
func sign(h http.Header, keys [][]byte, id, body string, at time.Time) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	var signatures []string
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + stamp + "." + body))
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", stamp)
	h.Set("webhook-signature", strings.Join(signatures, " "))
}
