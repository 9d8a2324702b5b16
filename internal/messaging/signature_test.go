package messaging

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

var signedAt = time.Date(2026, 9, 21, 14, 0, 0, 0, time.UTC)

func TestASignatureIsAcceptedInEveryForm(t *testing.T) {
	body := []byte(`{"text":"Ça marche 👍"}`)
	old, now := NewSecret("the-secret-of-last-year-0123456789"), NewSecret("the-secret-of-this-year-0123456789")
	for name, form := range map[string]SignatureForm{
		"assumed":            {},
		"prefix":             {Prefix: "sha256="},
		"base64":             {Encoding: Base64},
		"header":             {Header: "x-hub-signature-256", Prefix: "sha256="},
		"timestamp":          {TimestampHeader: "x-service-timestamp"},
		"timestamp in place": {TimestampHeader: "x-service-signature", Prefix: "v1="},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := NewVerifier(form, now, old)
			if err != nil {
				t.Fatal(err)
			}
			for want, secret := range []Secret{now, old} {
				h := http.Header{}
				if err := form.Sign(h, secret, body, signedAt); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if got, err := v.Verify(h, body, signedAt.Add(time.Minute)); err != nil || got != want {
						t.Fatalf("secret %d: %d, %v", want, got, err)
					}
				}
				for i := range body {
					changed := append([]byte(nil), body...)
					changed[i] ^= 1
					if _, err := v.Verify(h, changed, signedAt); !errors.Is(err, ErrBadSignature) {
						t.Fatalf("byte %d changed: %v, want %v", i, err, ErrBadSignature)
					}
				}
				if form.TimestampHeader != "" {
					const most = 5 * time.Minute
					for d, want := range map[time.Duration]error{-most: nil, most: nil, -most - time.Second: ErrStale, most + time.Second: ErrStale} {
						if _, err := v.Verify(h, body, signedAt.Add(d)); !errors.Is(err, want) {
							t.Errorf("%v apart: %v, want %v", d, err, want)
						}
					}
				}
			}
			h := http.Header{}
			form.Sign(h, NewSecret("somebody-else"), body, signedAt)
			if _, err := v.Verify(h, body, signedAt); !errors.Is(err, ErrBadSignature) {
				t.Error(err)
			}
			if _, err := v.Verify(http.Header{}, body, signedAt); !errors.Is(err, ErrNoSignature) {
				t.Error(err)
			}
		})
	}
}

// The verifier reads and writes each literal signature of testdata/wire/signatures, and takes none
// for another form. The tests of the sandbox use the same files.
func TestSignaturesOfEveryFormAreTheLiteralOnes(t *testing.T) {
	var file struct {
		Secret, Body string
		At           int64
		Cases        []struct {
			Name string
			Form struct {
				Encoding, Prefix string
				TimestampHeader  string `json:"timestamp_header"`
			}
			Headers map[string]string
		}
	}
	text, err := os.ReadFile("../../testdata/wire/signatures/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 5 {
		t.Fatalf("%d cases, want 5 or more", len(file.Cases))
	}
	at := time.Unix(file.At, 0)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			form := SignatureForm{Encoding: Encoding(c.Form.Encoding), Prefix: c.Form.Prefix, TimestampHeader: c.Form.TimestampHeader}
			v, err := NewVerifier(form, NewSecret(file.Secret))
			if err != nil {
				t.Fatal(err)
			}
			literal, signed := http.Header{}, http.Header{}
			for k, text := range c.Headers {
				literal.Set(k, text)
			}
			if _, err := v.Verify(literal, []byte(file.Body), at.Add(time.Minute)); err != nil {
				t.Errorf("the literal headers: %v, want no error", err)
			}
			if err := form.Sign(signed, NewSecret(file.Secret), []byte(file.Body), at); err != nil || !reflect.DeepEqual(signed, literal) {
				t.Errorf("signed %v, want %v (%v)", signed, literal, err)
			}
			for _, other := range file.Cases {
				if other.Form.Encoding == c.Form.Encoding && other.Form.TimestampHeader == c.Form.TimestampHeader {
					continue // a prefix is optional
				}
				h := http.Header{}
				for k, text := range other.Headers {
					h.Set(k, text)
				}
				if _, err := v.Verify(h, []byte(file.Body), at); err == nil {
					t.Errorf("%q passes for it, want an error", other.Name)
				}
			}
		})
	}
}

// The test computes the reference itself, without Sign.
func TestTheAssumedFormIsHexOverTheRawBody(t *testing.T) {
	secret, body := "s3cret-s3cret-s3cret-s3cret-s3cret", []byte(`{"a":1}`)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	sum := mac.Sum(nil)
	v, _ := NewVerifier(SignatureForm{}, NewSecret(secret))
	for value, want := range map[string]error{
		hex.EncodeToString(sum):                                                     nil,
		"sha256=" + hex.EncodeToString(sum):                                         nil,
		strings.ToUpper(hex.EncodeToString(sum)):                                    nil,
		strings.Repeat("00", 32) + "," + hex.EncodeToString(sum):                    nil,
		hex.EncodeToString(sum)[:62]:                                                ErrNoSignature,
		hex.EncodeToString(sum) + "00":                                              ErrNoSignature,
		base64.StdEncoding.EncodeToString(sum):                                      ErrNoSignature,
		strings.Repeat("00 ", 40) + strings.Repeat(strings.Repeat("00", 32)+" ", 9): ErrBadSignature,
		"": ErrNoSignature,
	} {
		if _, err := v.Verify(http.Header{"X-Service-Signature": {value}}, body, signedAt); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", value, err, want)
		}
	}
}

// A sender that rotates its secret signs twice. A request with hundreds of guesses gets eight of
// them tried.
func TestAtMostEightSignaturesAreTried(t *testing.T) {
	form, body := SignatureForm{}, []byte("{}")
	v, err := NewVerifier(form, NewSecret("other"), NewSecret("secret"))
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	if err := form.Sign(h, NewSecret("secret"), body, signedAt); err != nil {
		t.Fatal(err)
	}
	good, wrong := h.Get("X-Service-Signature"), strings.Repeat("00", 32)
	for _, c := range []struct {
		before int
		sep    string
		want   error
	}{{0, ",", nil}, {7, ",", nil}, {7, " ", nil}, {8, ",", ErrBadSignature}, {100, ",", ErrBadSignature}} {
		line := strings.Repeat(wrong+c.sep, c.before) + good
		secret, err := v.Verify(http.Header{"X-Service-Signature": {line}}, body, signedAt)
		if !errors.Is(err, c.want) || (c.want == nil) != (secret == 1) {
			t.Errorf("after %d others, apart by %q: secret %d, %v; want %v", c.before, c.sep, secret, err, c.want)
		}
	}
	if _, err := v.Verify(http.Header{"X-Service-Signature": {wrong, good}}, body, signedAt); err != nil {
		t.Errorf("in a second header line: %v, want it to hold", err)
	}
	if _, err := v.Verify(http.Header{"X-Service-Signature": {strings.Repeat(" ", 4096) + good}},
		body, signedAt); !errors.Is(err, ErrNoSignature) {
		t.Errorf("beyond 4 KiB of a line: %v, want %v", err, ErrNoSignature)
	}
}

func TestToleranceIsWhatIsConfigured(t *testing.T) {
	form, body, h := SignatureForm{TimestampHeader: "x-stamp", Tolerance: 30 * time.Second}, []byte("{}"), http.Header{}
	v, err := NewVerifier(form, NewSecret("secret"))
	if err != nil {
		t.Fatal(err)
	}
	if err := form.Sign(h, NewSecret("secret"), body, signedAt); err != nil {
		t.Fatal(err)
	}
	for d, want := range map[time.Duration]error{30 * time.Second: nil, 31 * time.Second: ErrStale,
		-30 * time.Second: nil, -31 * time.Second: ErrStale} {
		if _, err := v.Verify(h, body, signedAt.Add(d)); !errors.Is(err, want) {
			t.Errorf("%v apart: %v, want %v", d, err, want)
		}
	}
	h.Set("X-Stamp", " "+h.Get("X-Stamp")+" ")
	if _, err := v.Verify(h, body, signedAt); err != nil {
		t.Errorf("a stamp with spaces around: %v, want it to hold", err)
	}
	h.Set("X-Stamp", "0")
	if _, err := v.Verify(h, body, signedAt); !errors.Is(err, ErrBadSignature) {
		t.Errorf("another stamp than the signed one: %v, want %v", err, ErrBadSignature)
	}
	// A signature without a timestamp is refused where the options ask for one.
	if err := (SignatureForm{}).Sign(h, NewSecret("secret"), body, signedAt); err != nil {
		t.Fatal(err)
	}
	h.Del("X-Stamp")
	if _, err := v.Verify(h, body, signedAt); !errors.Is(err, ErrStale) {
		t.Errorf("without a stamp: %v, want %v", err, ErrStale)
	}
	for _, bad := range []SignatureForm{{Tolerance: -1}, {Encoding: "base32"}} {
		if err := bad.Sign(http.Header{}, NewSecret("secret"), body, signedAt); err == nil {
			t.Errorf("%+v signs, want an error", bad)
		}
	}
	if err := form.Sign(http.Header{}, Secret{}, body, signedAt); err == nil {
		t.Error("got no error of signing without a secret, want one")
	}
}

func TestAVerifierNeedsSecrets(t *testing.T) {
	for _, secrets := range [][]Secret{nil, {Secret{}}, {NewSecret("good"), NewSecret("")}} {
		if _, err := NewVerifier(SignatureForm{}, secrets...); err == nil {
			t.Errorf("accepted %d secrets, want an error: none, or one is empty", len(secrets))
		}
	}
	for name, c := range map[string]struct {
		form         SignatureForm
		secret, want string
	}{
		"unknown encoding":      {SignatureForm{Encoding: "base32"}, "x", "webhooks.signature: encoding"},
		"negative tolerance":    {SignatureForm{Tolerance: -1}, "x", "webhooks.signature: tolerance"},
		"secret not base64":     {SignatureForm{SecretBase64: true}, "whsec_%%%", "webhooks.secrets[0]: not base64"},
		"secret empty, decoded": {SignatureForm{SecretBase64: true}, "whsec_", "webhooks.secrets[0]: not base64"},
	} {
		if _, err := NewVerifier(c.form, NewSecret(c.secret)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error that begins with %q", name, err, c.want)
		}
	}
	if got, want := ShortSecret, 32; got != want {
		t.Errorf("secrets below %d bytes are short, want %d", got, want)
	}
	raw := []byte("raw-secret-bytes")
	form := SignatureForm{SecretBase64: true}
	v, err := NewVerifier(form, NewSecret("whsec_"+base64.StdEncoding.EncodeToString(raw)))
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	SignatureForm{}.Sign(h, NewSecret(string(raw)), []byte("{}"), signedAt)
	if _, err := v.Verify(h, []byte("{}"), signedAt); err != nil {
		t.Error(err)
	}
}

func FuzzSignature(f *testing.F) {
	f.Add("sha256=00", "1790000000", []byte("{}"))
	f.Add("t=1790000000,v1=00", "", []byte(`{"a":1}`))
	forms := []SignatureForm{{}, {Encoding: Base64}, {TimestampHeader: "X-T"}, {TimestampHeader: "X-Service-Signature", Prefix: "v1="}}
	f.Fuzz(func(t *testing.T, signature, stamp string, body []byte) {
		secret := NewSecret("0123456789abcdef0123456789abcdef")
		for _, form := range forms {
			v, err := NewVerifier(form, secret)
			if err != nil {
				t.Fatal(err)
			}
			// The fuzzer cannot make an HMAC, so no input is accepted.
			if _, err := v.Verify(http.Header{"X-Service-Signature": {signature}, "X-T": {stamp}}, body, signedAt); err == nil {
				t.Fatalf("accepted %q, want an error", signature)
			}
			h := http.Header{}
			if err := form.Sign(h, secret, body, signedAt); err != nil {
				t.Fatal(err)
			}
			if _, err := v.Verify(h, body, signedAt); err != nil {
				t.Fatalf("own signature: %v, want no error", err)
			}
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 400)
	v, err := NewVerifier(SignatureForm{}, NewSecret("0123456789abcdef0123456789abcdef"), NewSecret("fedcba9876543210fedcba9876543210"))
	if err != nil {
		b.Fatal(err)
	}
	h := http.Header{}
	SignatureForm{}.Sign(h, NewSecret("fedcba9876543210fedcba9876543210"), body, signedAt)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(h, body, signedAt); err != nil {
			b.Fatal(err)
		}
	}
}
