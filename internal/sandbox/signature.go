package sandbox

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"time"
)

func digest(secret, before string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, before) // a hash returns no error
	_, _ = mac.Write(body)
	return mac.Sum(nil)
}

// signature is the name of the header that contains the signature (docs/service.md#signature).
const signature = "X-Service-Signature"

// sign sets the signature headers of one posting in the configured form.
func (f *EventForm) sign(h http.Header, secret string, body []byte, now time.Time) {
	stamp, before := "", ""
	if f.SignatureTimestamp != "" {
		stamp = strconv.FormatInt(now.Unix(), 10)
		before = stamp + "."
	}
	sum := digest(secret, before, body)
	text := f.SignaturePrefix + hex.EncodeToString(sum)
	if f.SignatureEncoding == "base64" {
		text = f.SignaturePrefix + base64.StdEncoding.EncodeToString(sum)
	}
	switch http.CanonicalHeaderKey(f.SignatureTimestamp) {
	case "":
	case signature:
		text = "t=" + stamp + "," + text
	default:
		h.Set(f.SignatureTimestamp, stamp)
	}
	h[cmp.Or(f.header, signature)] = []string{text}
}
