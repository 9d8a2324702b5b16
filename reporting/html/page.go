package html

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"
	"sync"
)

//go:embed assets/report.html assets/report.css assets/iso3166.tab
var assets embed.FS

// Font is Source Sans 3 as WOFF2, which the console has too. It must not be changed.
//
//go:embed assets/source-sans-3-latin-wght-normal.woff2
var Font []byte

// frame is what every report has: the parsed template, the style with its font, and the policy that
// allows no other style, no script and no request (https://www.w3.org/TR/CSP3/).
type frame struct {
	page      *template.Template
	style     template.CSS
	policy    string
	countries map[string]string // by ISO 3166 code
}

var framed = sync.OnceValue(func() *frame {
	read := func(name string) string {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // it is embedded
		}
		return string(text)
	}
	font := base64.StdEncoding.EncodeToString(Font)
	style := strings.Replace(read("report.css"), "FONT", "data:font/woff2;base64,"+font, 1)
	sum := sha256.Sum256([]byte(style))
	f := &frame{page: template.Must(template.New("report").Parse(read("report.html"))), style: template.CSS(style), //nolint:gosec // our own
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; font-src data:"}
	f.countries = map[string]string{}
	for line := range strings.Lines(read("iso3166.tab")) {
		code, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		f.countries[code] = name
	}
	return f
})

// Write writes the report.
func Write(w io.Writer, f *Facts) error {
	frame := framed()
	var b bytes.Buffer
	if err := frame.page.Execute(&b, struct {
		*view
		Style  template.CSS
		Policy string
	}{newView(f, frame.countries), frame.style, frame.policy}); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Policy is the Content-Security-Policy of every report, for servers that send it as a header too.
func Policy() string { return framed().policy }
