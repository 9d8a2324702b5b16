package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strings"

	"campaignd/reporting/html"
)

//go:embed assets/console.css assets/console.js assets/icon.svg
var files embed.FS

const fontName = "source-sans-3.woff2"

// asset is a file that browsers keep, because its name changes with its content.
type asset struct {
	kind  string
	plain []byte
	small []byte // gzip; nil if it is not smaller
}

// assets are the files beside the pages.
type assets struct {
	byName map[string]asset
	hashed map[string]string // the name with the hash, by the plain one
}

// readAssets reads the font first: the style has its hashed name.
func readAssets() (*assets, error) {
	a := &assets{map[string]asset{}, map[string]string{}}
	for _, f := range []struct{ name, kind string }{
		{fontName, "font/woff2"}, {"console.css", "text/css; charset=utf-8"},
		{"console.js", "text/javascript; charset=utf-8"}, {"icon.svg", "image/svg+xml"},
	} {
		text := html.Font
		if f.name != fontName {
			var err error
			if text, err = files.ReadFile("assets/" + f.name); err != nil {
				return nil, err
			}
		}
		for plain, hashed := range a.hashed {
			text = bytes.ReplaceAll(text, []byte(plain), []byte(hashed))
		}
		sum := sha256.Sum256(text)
		ending := path.Ext(f.name)
		name := fmt.Sprintf("%s.%s%s", strings.TrimSuffix(f.name, ending), hex.EncodeToString(sum[:8]), ending)
		one := asset{kind: f.kind, plain: text}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(text); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		if b.Len() < len(text) {
			one.small = b.Bytes()
		}
		a.byName[name], a.hashed[f.name] = one, name
	}
	return a, nil
}

// path is where a page finds an asset.
func (a *assets) path(name string) string { return "/console/assets/" + a.hashed[name] }

func (a *assets) serve(w http.ResponseWriter, r *http.Request) {
	one, ok := a.byName[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h, text := w.Header(), one.plain
	h.Set("Content-Type", one.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	if one.small != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		text = one.small
	}
	_, _ = w.Write(text) // the browser has gone
}
