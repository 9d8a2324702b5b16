package messaging

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/internal/sentence"
)

// The reasons why a signature is not accepted. The caller answers each with 401 and no detail.
var (
	ErrNoSignature  = errors.New("no signature")
	ErrBadSignature = errors.New("signature does not match")
	ErrStale        = errors.New("signed timestamp missing or outside the tolerance")
)

// Encoding is the encoding of a signature.
type Encoding string

// The encodings.
const (
	Hex    Encoding = "hex"
	Base64 Encoding = "base64" // standard or URL alphabet, padded or not
)

// ShortSecret is the length in bytes below which a signing secret gets a warning
// (docs/security.md#security).
const ShortSecret = 32

// MinSecret is the length in bytes below which a signing secret is refused: 128 bits, if it was
// drawn (RFC 2104, section 3).
const MinSecret = 16

// SignatureForm is the form in which the service signs: HMAC-SHA256 in the header
// X-Service-Signature (docs/service.md#signature). The document does not show the signed input, the
// encoding and the form of the secret. The zero value is our assumption: hex over the raw body,
// with or without sha256= in front.
type SignatureForm struct {
	// Header is the header with the signature. Default X-Service-Signature.
	Header string
	// Prefix is the text before each signature, such as sha256= or v1=. Verify removes it and sha256=
	// if they are there. Default none.
	Prefix string
	// Encoding is Hex or Base64. Default Hex.
	Encoding Encoding
	// TimestampHeader names the header of the signed Unix seconds; the signed input is then
	// TIMESTAMP.BODY. If it equals Header, the timestamp is the part t=SECONDS of that header. Default
	// none: the signed input is the body.
	TimestampHeader string
	// Tolerance is the largest difference between the signed timestamp and now. Default 5 minutes; a
	// negative value is an error.
	Tolerance time.Duration
	// SecretBase64 means that the secret is the base64 of its bytes, with or without whsec_ in front.
	SecretBase64 bool
}

func (f SignatureForm) withDefaults() (SignatureForm, error) {
	f.Header = cmp.Or(f.Header, "X-Service-Signature")
	f.Encoding = cmp.Or(f.Encoding, Hex)
	if f.Encoding != Hex && f.Encoding != Base64 {
		return f, fmt.Errorf("encoding: %q is neither hex nor base64", f.Encoding)
	}
	if f.Tolerance < 0 {
		return f, fmt.Errorf("tolerance: %v is negative", f.Tolerance)
	}
	f.Tolerance = cmp.Or(f.Tolerance, 5*time.Minute)
	f.Header = http.CanonicalHeaderKey(f.Header)
	f.TimestampHeader = http.CanonicalHeaderKey(f.TimestampHeader)
	return f, nil
}

// Verifier checks signatures with several secrets: the present one and, during a rotation, the one
// before. It is safe for concurrent use.
type Verifier struct {
	form SignatureForm
	set  atomic.Pointer[secretSet]
}

// MaxSecrets is the most different secrets that a Verifier may have had.
const MaxSecrets = 64

// secretSet has the keys in force. A key names its secret by the index in ever, which stays the
// same when the secrets are renewed.
type secretSet struct {
	ever []Secret
	keys []*signingKey
}

// signingKey keeps prepared HMACs, because the preparation costs more than the HMAC of a small
// body.
type signingKey struct {
	secret int // its index
	pool   sync.Pool
}

// NewVerifier returns a Verifier. It needs at least one secret. An error names the option.
func NewVerifier(form SignatureForm, secrets ...Secret) (*Verifier, error) {
	form, err := form.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("webhooks.signature: %w", err)
	}
	v := &Verifier{form: form}
	if err := v.Renew(secrets...); err != nil {
		return nil, err
	}
	return v, nil
}

// Renew replaces the secrets. With an error, which names the option, the ones before stay.
func (v *Verifier) Renew(secrets ...Secret) error {
	if len(secrets) == 0 {
		return errors.New("webhooks.secrets: none; without a secret no webhook can be trusted")
	}
	next := &secretSet{}
	if before := v.set.Load(); before != nil {
		next.ever = slices.Clone(before.ever)
	}
	for i, s := range secrets {
		key, err := v.form.key(s)
		if err != nil {
			return fmt.Errorf("webhooks.secrets[%d]: %w", i, err)
		}
		at := slices.IndexFunc(next.ever, func(e Secret) bool { return e.Reveal() == s.Reveal() })
		if at < 0 {
			at, next.ever = len(next.ever), append(next.ever, s)
		}
		k := &signingKey{secret: at}
		k.pool.New = func() any { return hmac.New(sha256.New, key) }
		next.keys = append(next.keys, k)
	}
	if len(next.ever) > MaxSecrets {
		return fmt.Errorf("webhooks.secrets: %d different ones since the start; restart the process", len(next.ever))
	}
	v.set.Store(next)
	return nil
}

// Secrets returns every secret that the Verifier has had, in the order of their indexes.
func (v *Verifier) Secrets() []Secret { return v.set.Load().ever }

// SecretBytes is the length in bytes of the HMAC key of a secret; 0 if the secret is not valid.
func (f SignatureForm) SecretBytes(s Secret) int {
	key, err := f.key(s)
	if err != nil {
		return 0
	}
	return len(key)
}

func (f SignatureForm) key(s Secret) ([]byte, error) {
	text := s.Reveal()
	if text == "" {
		return nil, errors.New("empty")
	}
	if !f.SecretBase64 {
		return []byte(text), nil
	}
	key, ok := decodeBase64(strings.TrimPrefix(text, "whsec_"))
	if !ok || len(key) == 0 {
		return nil, errors.New("not base64, although secret_base64 is set")
	}
	return key, nil
}

// maxSignatures is the number of signatures that are tried for one delivery. A sender that rotates
// its secret gives two.
const maxSignatures = 8

// Verify checks the signature over the raw body and returns the index of the secret that made it,
// or -1. It tries every secret with every signature, each comparison in constant time, so that the
// duration does not show which pair matched or how much of it. Errors: ErrNoSignature,
// ErrBadSignature, ErrStale.
func (v *Verifier) Verify(h http.Header, body []byte, now time.Time) (secret int, err error) {
	given := v.form.signatures(h)
	if len(given) == 0 {
		return -1, ErrNoSignature
	}
	stamp, stale := "", false
	if v.form.TimestampHeader != "" {
		stamp = v.form.timestamp(h)
		seconds, err := strconv.ParseInt(stamp, 10, 64)
		apart := now.Sub(time.Unix(seconds, 0))
		stale = err != nil || apart > v.form.Tolerance || apart < -v.form.Tolerance
	}
	secret = -1
	var sum [sha256.Size]byte
	for _, k := range v.set.Load().keys {
		mac := k.pool.Get().(hash.Hash)
		signed(mac, stamp, body, sum[:0])
		k.pool.Put(mac)
		for _, g := range given {
			if hmac.Equal(sum[:], g[:]) && secret < 0 {
				secret = k.secret
			}
		}
	}
	switch {
	case secret < 0:
		return -1, ErrBadSignature
	case stale:
		return -1, ErrStale
	}
	return secret, nil
}

func signed(mac hash.Hash, stamp string, body, out []byte) []byte {
	mac.Reset()
	if stamp != "" {
		mac.Write([]byte(stamp))
		mac.Write([]byte{'.'})
	}
	mac.Write(body)
	return mac.Sum(out)
}

// signatures decodes the header: one signature, or several with spaces or commas between them. It
// skips a part that is not 32 bytes long.
func (f *SignatureForm) signatures(h http.Header) [][sha256.Size]byte {
	var out [][sha256.Size]byte
	for _, line := range h[f.Header] {
		for part := range strings.FieldsFuncSeq(sentence.Clip(line, 4096), func(r rune) bool { return r == ' ' || r == ',' }) {
			if f.Prefix != "" {
				part = strings.TrimPrefix(part, f.Prefix)
			}
			part = strings.TrimPrefix(part, "sha256=")
			var raw []byte
			var ok bool
			if f.Encoding == Hex {
				b, err := hex.DecodeString(part)
				raw, ok = b, err == nil
			} else {
				raw, ok = decodeBase64(part)
			}
			if ok && len(raw) == sha256.Size && len(out) < maxSignatures {
				out = append(out, [sha256.Size]byte(raw))
			}
		}
	}
	return out
}

func (f *SignatureForm) timestamp(h http.Header) string {
	line := h.Get(f.TimestampHeader)
	if f.TimestampHeader != f.Header {
		return strings.TrimSpace(line)
	}
	for part := range strings.FieldsFuncSeq(sentence.Clip(line, 4096), func(r rune) bool { return r == ' ' || r == ',' }) {
		if s, ok := strings.CutPrefix(part, "t="); ok {
			return s
		}
	}
	return ""
}

// Sign sets the headers that a service with this form sends with body at that time.
func (f SignatureForm) Sign(h http.Header, secret Secret, body []byte, at time.Time) error {
	f, err := f.withDefaults()
	if err != nil {
		return err
	}
	key, err := f.key(secret)
	if err != nil {
		return fmt.Errorf("secret: %w", err)
	}
	stamp := ""
	if f.TimestampHeader != "" {
		stamp = strconv.FormatInt(at.Unix(), 10)
	}
	sum := signed(hmac.New(sha256.New, key), stamp, body, nil)
	text := hex.EncodeToString(sum)
	if f.Encoding == Base64 {
		text = base64.StdEncoding.EncodeToString(sum)
	}
	text = f.Prefix + text
	if stamp != "" && f.TimestampHeader == f.Header {
		text = "t=" + stamp + "," + text
	} else if stamp != "" {
		h.Set(f.TimestampHeader, stamp)
	}
	h.Set(f.Header, text)
	return nil
}

func decodeBase64(s string) ([]byte, bool) {
	s = strings.TrimRight(s, "=")
	if b, err := base64.RawStdEncoding.DecodeString(s); err == nil {
		return b, true
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	return b, err == nil
}
