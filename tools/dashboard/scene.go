package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"embed"
	"encoding/pem"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The files of the scene. ADMIN, PUBLIC, SERVICE and DESK are addresses.
//
//go:embed scene
var files embed.FS

// scene is a folder with the files of a recording, and an address for notifications that answers
// 503 for the first 45 seconds.
type scene struct {
	admin, public, service string
	desk                   *httptest.Server
}

func (s *scene) close() { s.desk.Close() }

func newScene(folder string) (*scene, error) {
	began := time.Now()
	s := &scene{desk: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if time.Since(began) < 45*time.Second {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))}
	for _, addr := range []*string{&s.admin, &s.public, &s.service} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		*addr = l.Addr().String()
	}
	place := strings.NewReplacer("ADMIN", s.admin, "PUBLIC", s.public, "SERVICE", s.service, "DESK", s.desk.URL)
	for from, to := range map[string]string{
		"campaignd.yaml": "campaignd.yaml", "scenario.yaml": "scenario.yaml", "spring.yaml": "campaigns/spring.yaml",
		"orders.yaml": "campaigns/orders.yaml",
	} {
		text, err := files.ReadFile("scene/" + from)
		if err != nil {
			return nil, err
		}
		if err := write(filepath.Join(folder, to), []byte(place.Replace(string(text)))); err != nil {
			return nil, err
		}
	}
	yesterday := time.Now().Add(-24 * time.Hour) // so that the schedule of spring.yaml has a missed firing
	return s, errors.Join(
		list(filepath.Join(folder, "campaigns/spring.csv"), "+49151", 60000),
		list(filepath.Join(folder, "campaigns/orders.csv"), "+49152", 1200),
		picture(filepath.Join(folder, "campaigns/banner.png")),
		certificate(folder),
		os.Chtimes(filepath.Join(folder, "campaigns/spring.yaml"), yesterday, yesterday),
	)
}

func write(file string, text []byte) error {
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o600))
}

func list(file, prefix string, rows int) error {
	var out strings.Builder
	out.WriteString("to,first_name,code\n")
	for i := range rows {
		fmt.Fprintf(&out, "%s%08d,Ada,C-%d\n", prefix, 10000000+i, i)
	}
	return write(file, []byte(out.String()))
}

func picture(file string) error {
	var out strings.Builder
	err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 64, 64)))
	return errors.Join(err, write(file, []byte(out.String())))
}

// certificate writes a certificate of the admin listener that is valid for 20 days.
func certificate(folder string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(20 * 24 * time.Hour), IPAddresses: []net.IP{{127, 0, 0, 1}},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		write(filepath.Join(folder, "cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})),
		write(filepath.Join(folder, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	)
}
