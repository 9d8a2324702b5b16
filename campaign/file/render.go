package file

import (
	"errors"
	"fmt"
	"strings"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

// VariableError says why a row's values cannot be sent. The row is skipped, and the run goes on.
type VariableError struct {
	Reason   campaign.SkipReason // MissingVariable or InvalidVariable
	Column   string              // name of the faulty column; "" when the fault has no single column
	Sentence string              // what is wrong, without the value
}

// Error names the column and what is wrong with it, without the value.
func (e *VariableError) Error() string {
	if e.Column == "" {
		return e.Sentence
	}
	return fmt.Sprintf("column %q %s", e.Column, e.Sentence)
}

// ErrNotUploaded says that the header is a local file and that its asset id is missing.
var ErrNotUploaded = errors.New("the header's file has not been uploaded for this run")

// value is what a row has for a variable.
func (s *slot) value(cells []string) (string, *VariableError) {
	cell := ""
	if s.column < len(cells) {
		cell = cells[s.column]
	}
	v := strings.TrimPrefix(clean(cell), s.strip)
	if why := s.forbid.refuses(v); why != "" {
		return "", &VariableError{Reason: campaign.InvalidVariable, Column: s.header, Sentence: why}
	}
	if v == "" {
		v = s.fallback
	}
	if v == "" {
		return "", &VariableError{Reason: campaign.MissingVariable, Column: s.header, Sentence: "has no value"}
	}
	return v, nil
}

// fill builds one parameter of a row. It also returns its length in UTF-16 units, or in bytes for
// an address.
func (p *parameter) fill(cells []string) (string, int, *VariableError) {
	var text string
	if len(p.slots) == 1 && p.slots[0].column >= 0 { // most parameters are a single variable
		v, fail := p.slots[0].value(cells)
		if fail != nil {
			return "", 0, fail
		}
		text = v
	} else {
		var buffer [256]byte
		b := buffer[:0]
		for i := range p.slots {
			s := &p.slots[i]
			if s.column < 0 {
				b = append(b, s.text...)
				continue
			}
			v, fail := s.value(cells)
			if fail != nil {
				return "", 0, fail
			}
			b = append(b, v...)
		}
		text = string(b)
	}
	out, units, why := finish(p.use, text)
	if why == "" {
		return out, units, nil
	}
	return "", units, p.blame(cells, why)
}

// blame names the column of a fault: the only one, or the first whose value has a fault of its own.
func (p *parameter) blame(cells []string, why string) *VariableError {
	var varying []*slot
	for i := range p.slots {
		if p.slots[i].column >= 0 {
			varying = append(varying, &p.slots[i])
		}
	}
	for _, s := range varying {
		v, _ := s.value(cells)
		own := why
		if len(varying) > 1 {
			if _, own = fault(v); own == "" && (p.use == inURL || p.use == inLink) {
				_, own = encodeURL(v)
			}
		}
		if own != "" {
			return &VariableError{Reason: campaign.InvalidVariable, Column: s.header, Sentence: own}
		}
	}
	return &VariableError{Reason: campaign.InvalidVariable, Sentence: p.path + " " + why}
}

// each fills every parameter in turn and checks the lengths of body and addresses.
func (r *Renderer) each(cells []string, take func(i int, text string)) error {
	hydrated := r.fixed
	for i := range r.parameters {
		text, units, fail := r.parameters[i].fill(cells)
		if fail != nil {
			return fail
		}
		switch {
		case i < r.body:
			if r.fixed >= 0 {
				hydrated += units * r.repeat[i]
			}
		case i < r.body+len(r.buttons) && r.bases != nil:
			if n := r.bases[i-r.body] + units; r.parameters[i].use == inURL && n > maxURL {
				return &VariableError{Reason: campaign.InvalidVariable,
					Sentence: fmt.Sprintf("the address of button %d gets %d characters; at most %d are allowed", i-r.body+1, n, maxURL)}
			}
		}
		take(i, text)
	}
	if hydrated > maxParameter {
		return &VariableError{Reason: campaign.InvalidVariable,
			Sentence: fmt.Sprintf("the body gets %d characters with this row's values; at most %d are allowed", hydrated, maxParameter)}
	}
	return nil
}

// Check reports whether the row's values can be sent: nil or a *VariableError.
func (r *Renderer) Check(cells []string) error { return r.each(cells, func(int, string) {}) }

// CodeLength is the length of the row's longest coupon code; 0 without one.
func (r *Renderer) CodeLength(cells []string) int {
	longest := 0
	for i := range r.parameters {
		if p := &r.parameters[i]; p.use == inCopyCode {
			_, units, _ := p.fill(cells)
			longest = max(longest, units)
		}
	}
	return longest
}

// Message builds the request of one delivery. asset is the assetId of the header's file uploaded
// for the run (Run.Asset); "" when the header is not a file. It fails with a *VariableError when
// the row's values cannot be sent, and with ErrNotUploaded. The message shares the parts that are
// the same for every row, so it must not be changed.
func (r *Renderer) Message(connection, asset string, dl *campaign.Delivery) (*messaging.Message, error) {
	m := &struct {
		messaging.Message
		template messaging.Template
	}{}
	t := &m.template
	t.Name, t.Language, t.Header = r.name, r.language, r.static
	m.Message = messaging.Message{ConnectionID: connection, To: dl.To, Template: t}
	if r.body > 0 {
		t.Body = make([]string, r.body)
	}
	if len(r.buttons) > 0 {
		t.Buttons = make([]messaging.TemplateButton, len(r.buttons))
	}
	link := ""
	if err := r.each(dl.Cells, func(i int, text string) {
		switch {
		case i < r.body:
			t.Body[i] = text
		case i < r.body+len(r.buttons):
			t.Buttons[i-r.body] = messaging.TemplateButton{Type: r.buttons[i-r.body], Text: text}
		case i == r.otp:
			t.OTP = text
		case i == r.link:
			link = text
		}
	}); err != nil {
		return nil, err
	}
	if _, media := r.header.Media(); media != nil && r.static == nil {
		if media.File == "" {
			asset = ""
		} else if asset == "" {
			return nil, ErrNotUploaded
		}
		t.Header = r.header.message(asset, link)
	}
	return &m.Message, nil
}
