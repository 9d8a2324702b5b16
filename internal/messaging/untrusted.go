package messaging

import (
	"crypto/x509"
	"errors"
)

// Untrusted returns what to do about an error that says that the CA of a certificate is not known,
// as it is behind the firewall of a company that opens TLS; "" for any other error. Go reads
// SSL_CERT_FILE in place of the system's CAs (https://pkg.go.dev/crypto/x509#SystemCertPool).
func Untrusted(err error) string {
	if !errors.As(err, new(x509.UnknownAuthorityError)) {
		return ""
	}
	return "its certificate is from a CA that this machine does not trust: set SSL_CERT_FILE to a file in PEM with that CA " +
		"and all others that are needed, or add it to the system's"
}
