package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/messaging"
	"campaignd/recipients"
)

// SampleInput selects one row of a campaign's list.
type SampleInput struct {
	File    string            // path of the campaign file
	List    string            // path of the list; "": recipients.file of the campaign
	Row     int64             // from 1; 0: the first row that can be sent
	Service messaging.Service // asked for the template's text; nil: the sample has no text
	// OptOut knows the words and the titles of buttons that opt out.
	OptOut messaging.OptOut
	// Suppressions are the numbers that SendTest refuses.
	Suppressions []campaign.Suppression
}

// Sample is one row's message as it would be sent.
type Sample struct {
	Row     int64               `json:"row"`
	Line    int                 `json:"line"`
	To      string              `json:"to"`
	Skip    campaign.SkipReason `json:"skip,omitempty"` // set when the row is not sent
	Note    string              `json:"note,omitempty"`
	Message *messaging.Message  `json:"message,omitempty"`
	Text    string              `json:"text,omitempty"` // the body with its variables filled; "" without the service's template
	Footer  string              `json:"footer,omitempty"`
	Header  string              `json:"header,omitempty"`  // the text of the header; "" if it is a medium
	Buttons []string            `json:"buttons,omitempty"` // their labels
	// QuickReplies are the quick replies among the buttons.
	QuickReplies []file.QuickReply `json:"quick_replies,omitempty"`

	// Pieces are the parts of Text.
	Pieces []file.Piece `json:"-"`

	definition *file.Definition
	render     *file.Renderer
	delivery   campaign.Delivery
}

// uploadedLater stands in a preview for the asset id that the header's file gets when it is
// uploaded.
const uploadedLater = "(uploaded when the run is launched)"

// ReadSample reads the list up to a row and renders it. It sends and stores nothing. The error is a
// *file.Error, a *recipients.FileError, or ErrNoRow.
func ReadSample(ctx context.Context, in SampleInput) (*Sample, error) {
	def, _, err := file.Load(in.File)
	if err != nil {
		return nil, err
	}
	path := cmp.Or(in.List, file.Beside(in.File, def.Recipients.File))
	if path == "" {
		return nil, noList(in.File)
	}
	list, err := OpenList(path, def.ListOptions(path))
	if err != nil {
		return nil, err
	}
	s, err := sampleOf(def, list, in.Row)
	if err := errors.Join(err, list.Close()); err != nil {
		return nil, err
	}
	if s.Message != nil && in.Service != nil {
		if err := s.read(ctx, in.Service, in.OptOut); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// ErrNoRow says that the list does not have the row that was asked for.
var ErrNoRow = errors.New("the list has no row")

// sampleOf judges rows as an import does, so that a duplicate is shown as a duplicate.
func sampleOf(def *file.Definition, list *List, want int64) (*Sample, error) {
	render, err := def.Compile(list.Header())
	if err != nil {
		return nil, err
	}
	j := newJudge(def, render, 0, nil)
	rows := int64(0)
	for {
		row, err := list.Next()
		if errors.Is(err, io.EOF) {
			if want == 0 {
				return nil, fmt.Errorf("%w that can be sent; see `campaignd check`", ErrNoRow)
			}
			return nil, fmt.Errorf("%w %d; it has %d", ErrNoRow, want, rows)
		}
		if err != nil {
			return nil, err
		}
		d := j.delivery(row)
		rows = row.Number
		if row.Number < want || want == 0 && d.Skip != "" {
			continue
		}
		s := &Sample{Row: row.Number, Line: row.Line, To: d.To, Skip: d.Skip, Note: d.Note, definition: def, render: render, delivery: d}
		if d.Skip == "" {
			s.Message, err = render.Message(def.Connections[0], uploadedLater, &d)
		}
		return s, err
	}
}

// read asks the service for the template's text. Without such a template the sample has no text.
func (s *Sample) read(ctx context.Context, service messaging.Service, o messaging.OptOut) error {
	all, err := service.Templates(ctx, s.Message.ConnectionID)
	if errors.Is(err, messaging.ErrNotOffered) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask the service for its templates: %w", err)
	}
	t := file.FindTemplate(&s.definition.Template, all, s.Message.ConnectionID, func(file.Kind, string, string, string) {})
	if t == nil {
		return nil
	}
	s.QuickReplies = file.QuickReplies(&s.definition.Template, t, o)
	for _, c := range t.Components {
		switch strings.ToUpper(c.Type) {
		case "BODY":
			s.Text, s.Pieces = file.Filled(c, s.Message.Template.Body), file.Pieces(c, s.Message.Template.Body)
		case "HEADER":
			s.Header = c.Text
		case "BUTTONS":
			for _, b := range c.Buttons {
				s.Buttons = append(s.Buttons, b.Text)
			}
		case "FOOTER":
			s.Footer = c.Text
		}
	}
	return nil
}

// Tester is what SendTest needs of the service.
type Tester interface {
	messaging.Service
	Send(ctx context.Context, m *messaging.Message) (messaging.Receipt, error)
}

// SendTest sends the sample's message to one number of the operator, when it is its turn. It is a
// real message that no run counts. The error is a *messaging.Error when the service refused it or
// its answer left a doubt, and wraps campaign.ErrNotNow when a hold stops it or no slot was free.
func SendTest(ctx context.Context, service Tester, turn Turn, in SampleInput, to string) (*Sample, messaging.Receipt, error) {
	to, key, err := in.TestNumber(to)
	if err != nil {
		return nil, messaging.Receipt{}, err
	}
	in.Service = service
	s, err := ReadSample(ctx, in)
	if err != nil {
		return nil, messaging.Receipt{}, err
	}
	if s.Skip != "" {
		return nil, messaging.Receipt{}, fmt.Errorf("%w %d that can be sent: %s; choose another with --row", ErrNoRow, s.Row, s.Note)
	}
	asset, from := "", s.definition.Connections[0]
	if file := s.definition.Template.Header.File(); file != "" {
		kind, _ := s.definition.Template.Header.Media()
		assets, err := uploadHeader(ctx, service, kind, filepath.Dir(in.File), file, "", []messaging.Connection{{ID: from}})
		if err != nil {
			return nil, messaging.Receipt{}, err
		}
		asset = assets[0].ID
	}
	d := s.delivery
	d.To, d.Key = to, key
	if s.Message, err = s.render.Message(from, asset, &d); err != nil {
		return nil, messaging.Receipt{}, err
	}
	s.To = to
	receipt, err := turn.send(ctx, service, s.Message)
	return s, receipt, err
}

// TestNumber checks the number of a test message: it is valid and not suppressed.
func (in SampleInput) TestNumber(to string) (e164 string, key int64, err error) {
	numbers, err := ParseSuppressions([]string{to}, campaign.ScopeAll, time.Now())
	if err != nil {
		return "", 0, err
	}
	e164, key = numbers[0].To, numbers[0].Key
	for _, s := range in.Suppressions {
		if recipients.Fold(s.Key) == key && s.InForce(time.Now()) {
			return "", 0, fmt.Errorf("%s is on the suppression list (%s, %s); `campaignd suppressions remove` lifts it", e164, s.Scope, s.Source)
		}
	}
	return e164, key, nil
}
