package client

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// Access is how a process of this user reaches the API.
type Access struct {
	URL string `json:"url"` // scheme, host and port
	Key string `json:"key"`
	// Pin is the SHA-256 of the certificate of an https URL, in hex.
	Pin string `json:"pin,omitempty"`
}

// NewAccess returns an Access with the URL and a random key.
func NewAccess(url string) Access {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return Access{URL: url, Key: hex.EncodeToString(key)}
}

// Client returns a client of the process.
func (a Access) Client() (*Client, error) {
	return New(a.URL, a.Key, Options{HTTP: &http.Client{Transport: &http.Transport{ // no proxy: the process is on this machine
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, ExpectContinueTimeout: 5 * time.Second, DisableKeepAlives: true,
		TLSClientConfig: a.tls(),
	}}})
}

// tls returns the settings of a connection to the process. They check the pin of the certificate
// and not its name, because the certificate names the machine as other machines know it.
func (a Access) tls() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection compares the certificate itself
		VerifyConnection: func(s tls.ConnectionState) error {
			sum := sha256.Sum256(s.PeerCertificates[0].Raw)
			if hex.EncodeToString(sum[:]) != a.Pin {
				return errors.New("the certificate is not the one that the process named; if it was renewed just now, try again")
			}
			return nil
		},
	}
}

// Write replaces the file at path atomically. Only its owner can read the file.
func (a Access) Write(path string) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	part := path + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the file with the API's address: %w", err)
	}
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // beside the ledger
	if err != nil {
		return fmt.Errorf("the file with the API's address: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return fmt.Errorf("the file with the API's address: %w", err)
	}
	return nil
}

// ReadAccess reads the file at path. The error wraps fs.ErrNotExist if no process serves the API
// there.
func ReadAccess(path string) (a Access, err error) {
	text, err := os.ReadFile(path) //nolint:gosec // beside the ledger
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return a, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}
