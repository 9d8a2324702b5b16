package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// A test binary has modules too: the standard library at least.
func TestABillNamesWhatABinaryHas(t *testing.T) {
	var out bytes.Buffer
	if err := write(&out, os.Args[0]); err != nil {
		t.Fatal(err)
	}
	var b bill
	err := json.Unmarshal(out.Bytes(), &b)
	if err != nil || b.Format != "CycloneDX" || len(b.Components) == 0 || b.Components[0].Name != "std" {
		t.Errorf("got %s (%v), want a bill with the standard library", out.Bytes(), err)
	}
	font := b.Components[len(b.Components)-1]
	readme, err := os.ReadFile("../../reporting/html/assets/README.md")
	if err != nil || !bytes.Contains(readme, []byte(font.Hashes[0].Content)) || !bytes.Contains(readme, []byte(font.Version)) {
		t.Errorf("got the font %+v (%v), want the one of the README beside it", font, err)
	}
	if err := write(&out, "main.go"); err == nil {
		t.Error("a file that is no binary: got no error, want one")
	}
}
