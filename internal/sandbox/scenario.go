package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"

	"campaignd/internal/sandbox/shop/scenario"
)

// LoadScenario reads Options from a YAML file. An unknown key or a wrong type is an error with the
// file, the line and the column. A scenario without connections, templates or keys gets those of
// Demo. Every other missing field has its default.
func LoadScenario(path string) (Options, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Options{}, fmt.Errorf("scenario: %w", err)
	}
	return parseScenario(path, bytes.TrimPrefix(raw, []byte("\uFEFF"))) // some editors write a byte order mark
}

// parseScenario reads Options from YAML text. Errors show name as the file.
func parseScenario(name string, raw []byte) (o Options, err error) {
	defer func() {
		if p := recover(); p != nil { // the parser is a third party's
			err = fmt.Errorf("%s: the YAML parser failed on this file: %v; check the syntax of one half of it, then of the other", name, p)
		}
	}()
	err = yaml.NewDecoder(bytes.NewReader(raw), yaml.Strict()).Decode(&o)
	if err != nil && !errors.Is(err, io.EOF) { // EOF: an empty file is the zero value
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			p := at.GetToken().Position
			return Options{}, fmt.Errorf("%s:%d:%d: %s", name, p.Line, p.Column, at.GetMessage())
		}
		return Options{}, fmt.Errorf("%s: %w", name, err)
	}
	filled, err := o.withDefaults()
	if flaw, ok := errors.AsType[*scenario.Flaw](err); ok {
		return Options{}, fmt.Errorf("%s: %w", position(name, raw, "commerce."+flaw.Path), flaw)
	}
	if err != nil {
		return Options{}, fmt.Errorf("%s: %w", name, err)
	}
	filled.Log = nil // the caller chooses it
	return filled, nil
}

// position is the file with the line and the column of a value, such as companies[0].name. If the
// file does not have it, it is the place of what should contain it.
func position(name string, raw []byte, path string) string {
	file, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return name
	}
	for path != "" {
		if p, err := yaml.PathString("$." + path); err == nil {
			if node, err := p.FilterFile(file); err == nil && node != nil && node.GetToken() != nil {
				at := node.GetToken().Position
				return fmt.Sprintf("%s:%d:%d", name, at.Line, at.Column)
			}
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return name
}
