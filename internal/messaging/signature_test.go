package messaging

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
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
						t.Fatalf("byte %d changed: %v", i, err)
					}
				}
				if form.TimestampHeader != "" {
					for _, d := range []time.Duration{-6 * time.Minute, 6 * time.Minute} {
						if _, err := v.Verify(h, body, signedAt.Add(d)); !errors.Is(err, ErrStale) {
							t.Errorf("%v apart: %v", d, err)
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

// The literal signatures of testdata/wire/signatures, which the sandbox is held to as well: each form is read and
// written, and none is taken for another.
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
	readJSON(t, &file, "signatures", "cases.json")
	if len(file.Cases) < 5 {
		t.Fatalf("%d cases", len(file.Cases))
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
				t.Errorf("the literal headers: %v", err)
			}
			if err := form.Sign(signed, NewSecret(file.Secret), []byte(file.Body), at); err != nil || !reflect.DeepEqual(signed, literal) {
				t.Errorf("signed %v, want %v (%v)", signed, literal, err)
			}
			for _, other := range file.Cases {
				if other.Form.Encoding == c.Form.Encoding && other.Form.TimestampHeader == c.Form.TimestampHeader {
					continue // a prefix may be there or not
				}
				h := http.Header{}
				for k, text := range other.Headers {
					h.Set(k, text)
				}
				if _, err := v.Verify(h, []byte(file.Body), at); err == nil {
					t.Errorf("%q passes for it", other.Name)
				}
			}
		})
	}
}

// The reference is computed here, not by Sign.
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
			t.Errorf("%q: %v", value, err)
		}
	}
}

func TestAVerifierNeedsSecrets(t *testing.T) {
	for _, secrets := range [][]Secret{nil, {Secret{}}, {NewSecret("good"), NewSecret("")}} {
		if _, err := NewVerifier(SignatureForm{}, secrets...); err == nil {
			t.Errorf("accepted %d secrets, one of them empty", len(secrets))
		}
	}
	if _, err := NewVerifier(SignatureForm{Encoding: "base32"}, NewSecret("x")); err == nil {
		t.Error("an unknown encoding is accepted")
	}
	if _, err := NewVerifier(SignatureForm{SecretBase64: true}, NewSecret("whsec_%%%")); err == nil {
		t.Error("a secret that is not base64 is accepted")
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
			// The fuzzer cannot make an HMAC: nothing it makes up is accepted.
			if _, err := v.Verify(http.Header{"X-Service-Signature": {signature}, "X-T": {stamp}}, body, signedAt); err == nil {
				t.Fatalf("accepted %q", signature)
			}
			h := http.Header{}
			if err := form.Sign(h, secret, body, signedAt); err != nil {
				t.Fatal(err)
			}
			if _, err := v.Verify(h, body, signedAt); err != nil {
				t.Fatalf("own signature refused: %v", err)
			}
		}
	})
}
