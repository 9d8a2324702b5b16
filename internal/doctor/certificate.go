package doctor

import (
	"context"
	"crypto/tls"
	"time"

	"campaignd/internal/config"
)

// certificateWarning is how long before the end of a certificate the doctor warns, as the alert
// does.
const certificateWarning = 7 * 24 * time.Hour

// checkCertificates reads the certificates of the listeners. The service posts no webhook to one
// that has expired.
func checkCertificates(_ context.Context, cfg *config.Config) (checks []Check) {
	for _, l := range []struct {
		key   string
		files config.TLS
	}{{"listen.public_tls", cfg.Listen.PublicTLS}, {"listen.admin_tls", cfg.Listen.AdminTLS}} {
		if l.files == (config.TLS{}) {
			continue
		}
		pair, err := tls.LoadX509KeyPair(l.files.Certificate, l.files.Key)
		if err != nil {
			checks = append(checks, fail("certificate", "correct the files of "+l.key, err))
			continue
		}
		checks = append(checks, certificateCheck(l.key, pair.Leaf.NotBefore, pair.Leaf.NotAfter, time.Now()))
	}
	return checks
}

func certificateCheck(key string, from, until, now time.Time) Check {
	const name, remedy = "certificate", "renew its files; a running serve reads them within a second"
	expires := "expires at " + until.UTC().Format(time.RFC3339)
	switch {
	case now.Before(from):
		return Check{name, HealthFail, "that of " + key + " is not valid before " + from.UTC().Format(time.RFC3339), remedy}
	case !now.Before(until):
		return Check{name, HealthFail, "that of " + key + " expired at " + until.UTC().Format(time.RFC3339), remedy}
	case until.Sub(now) < certificateWarning:
		return warn(name, remedy, "that of %s %s", key, expires)
	}
	return good(name, "that of %s %s", key, expires)
}
