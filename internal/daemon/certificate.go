package daemon

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"campaignd/internal/config"
)

// certificate is the certificate of a listener, which another program renews on the disk.
type certificate struct {
	files   config.TLS
	log     *slog.Logger
	renewed func() // may be nil

	mu    sync.Mutex
	pair  *tls.Certificate
	read  string    // stamp of the files at the last try to read them
	asked time.Time // of the stamp
}

// certificateEvery is how long after a look at the files a handshake looks again.
const certificateEvery = time.Second

// secure makes the listener speak TLS 1.2 or newer. It does not offer HTTP/2, whose streams the
// bound on connections would not count.
func (l *listener) secure(files config.TLS, log *slog.Logger) error {
	if files == (config.TLS{}) {
		return nil
	}
	c := &certificate{files: files, log: log}
	c.read = c.stamp()
	if err := c.load(); err != nil {
		return fmt.Errorf("%s_tls: %w", l.name, err)
	}
	l.certificate = c
	l.srv.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
	l.srv.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug) // a line for each handshake of a stranger
	l.srv.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	return nil
}

func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.files.Certificate, c.files.Key)
	if err != nil {
		return err
	}
	c.pair = &pair
	return nil
}

// stamp changes with the files, also when a link is set to another folder.
func (c *certificate) stamp() (s string) {
	for _, path := range []string{c.files.Certificate, c.files.Key} {
		info, err := os.Stat(path)
		if err != nil {
			return err.Error()
		}
		s += fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size(), ";")
	}
	return s
}

// get returns the certificate for a handshake. When the files have changed it reads them first; the
// last good certificate stays if they cannot be read, such as between the writing of the one and
// the other.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.asked) < certificateEvery {
		return c.pair, nil
	}
	c.asked = time.Now()
	stamp := c.stamp()
	if stamp == c.read {
		return c.pair, nil
	}
	c.read = stamp
	if err := c.load(); err != nil {
		c.log.Warn("a renewed certificate cannot be read; the last one stays", "certificate", c.files.Certificate, "err", err)
		return c.pair, nil
	}
	c.log.Info("certificate renewed", "certificate", c.files.Certificate)
	if c.renewed != nil {
		c.renewed()
	}
	return c.pair, nil
}

// pin is the SHA-256 of the certificate, in hex; "" without TLS. It takes no lock: call it before
// any handshake, or from renewed, which get calls under its lock.
func (c *certificate) pin() string {
	if c == nil {
		return ""
	}
	sum := sha256.Sum256(c.pair.Certificate[0])
	return hex.EncodeToString(sum[:])
}
