package file

import (
	"reflect"

	"github.com/goccy/go-yaml/token"

	"campaignd/internal/yamlfile"
)

// MaxSize is the largest campaign file in bytes.
const MaxSize = yamlfile.MaxSize

// Source is a campaign file with the positions of its keys and values.
type Source struct {
	yamlfile.File
	stored  bool // the campaign of a run: see ParseStored
	sidecar bool // of a list: it may have againKey
}

var kindOfFile = yamlfile.Kind{Noun: "campaign file", Holds: "campaign", TooDeep: "a campaign file is flat",
	Empty: "see `campaignd config schema` for what belongs in it", TooBig: "the recipients belong in a list (recipients.file)"}

// ReadSource parses src and compares its shape with Definition: keys, types, one document, no
// anchors, no key without a value.
func ReadSource(name string, src []byte) *Source { return (&Source{}).read(name, src) }

// read fills an empty source and returns it.
func (s *Source) read(name string, src []byte) *Source {
	s.Kind, s.Name, s.AnyBase = kindOfFile, name, s.stored
	s.Parse(src)
	if s.Root != nil {
		s.Check(s.Root, "", reflect.TypeFor[Definition](), yamlfile.Shape{Special: s.special, Other: s.other})
	}
	if s.stored { // an earlier version launched it: such a key counts as absent
		s.Valueless(func(path string, _ *token.Token) { delete(s.Positions, path) })
	} else {
		s.RefuseValueless()
	}
	return s
}

// at adds a finding about the value at path, or about the nearest position above it.
func (s *Source) at(path, what, remedy string) { s.Faults = append(s.Faults, s.At(path, what, remedy)) }

func (s *Source) err() error {
	if len(s.Faults) == 0 {
		return nil
	}
	return FaultsOf(&s.File)
}

// FaultsOf is the error of a file that has faults.
func FaultsOf(f *yamlfile.File) *Error {
	e := &Error{}
	for _, f := range f.Sorted() {
		e.Findings = append(e.Findings, Finding{Level: LevelError, Where: f.Where, What: f.What, Remedy: f.Remedy, Excerpt: f.Excerpt})
	}
	return e
}

// FaultAt is a fault of the value at path (such as schedule.cron) in the campaign file name, whose
// bytes are src. The packages above this one, which check more of the file, use it. what names the
// remedy.
func FaultAt(name string, src []byte, path, what string) *Error {
	return &Error{Findings: []Finding{ReadSource(name, src).Finding(Fault, path, what, "")}}
}

// Finding is a finding about the value at path.
func (s *Source) Finding(kind Kind, path, what, remedy string) Finding {
	f := s.At(path, what, remedy)
	return Finding{Level: kind.Level(), Kind: kind, Where: f.Where, What: f.What, Remedy: f.Remedy, Excerpt: f.Excerpt}
}
