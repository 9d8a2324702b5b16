// Command sbom prints what a Go binary was built from, as CycloneDX 1.6 in JSON
// (https://cyclonedx.org/docs/1.6/json/). It reads the modules and their sums from the binary
// itself. The gate and `make sbom` run it. It is not shipped.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"campaignd/reporting/html"
)

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl,omitempty"`
	Hashes  []hash `json:"hashes,omitempty"`
	// Licenses are the licenses of parts that are no modules.
	Licenses []license `json:"licenses,omitempty"`
}

type license struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// font is the one file of others in the binary that is no module; reporting/html/assets/README.md
// has its source.
func font() component {
	sum := sha256.Sum256(html.Font)
	c := component{Type: "file", Name: "source-sans-3-latin-wght-normal.woff2", Version: "5.3.1",
		PURL: "pkg:npm/%40fontsource-variable/source-sans-3@5.3.1", Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}},
		Licenses: make([]license, 1)}
	c.Licenses[0].License.ID = "OFL-1.1"
	return c
}

// write prints the bill of the binary at path.
func write(w io.Writer, path string) error {
	built, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: metadata{component{Type: "application", Name: built.Main.Path, Version: built.Main.Version}},
		Components: []component{{
			Type: "library", Name: "std", Version: strings.TrimPrefix(built.GoVersion, "go"), PURL: "pkg:golang/std@" + built.GoVersion,
		}}}
	for _, m := range built.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version}
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) == 32 {
			c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
		}
		b.Components = append(b.Components, c)
	}
	b.Components = append(b.Components, font())
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(b)
}
