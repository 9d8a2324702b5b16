package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"fmt"
	"os"
	"path/filepath"
)

// cached returns the path of the file with the measurements of a test binary, below dir or the
// user's cache folder.
func cached(dir, binary string) (string, error) {
	text, err := os.ReadFile(binary)
	if err != nil {
		return "", err
	}
	if dir == "" {
		if dir, err = os.UserCacheDir(); err != nil {
			return "", err
		}
		dir = filepath.Join(dir, "campaignd-mutate")
	}
	return filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256(text))), os.MkdirAll(dir, 0o700)
}

// read returns the measurements in a file, and nil if there are none.
func read(path string, p *Package) (tests []*Test) {
	text, err := os.ReadFile(path)
	if err != nil || gob.NewDecoder(bytes.NewReader(text)).Decode(&tests) != nil {
		return nil
	}
	for _, t := range tests {
		t.Package = p
	}
	return tests
}

// write writes measurements to a file.
func write(path string, tests []*Test) error {
	var text bytes.Buffer
	kept := make([]Test, len(tests))
	for i, t := range tests {
		kept[i] = *t
		kept[i].Package = nil
	}
	if err := gob.NewEncoder(&text).Encode(kept); err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o600)
}
