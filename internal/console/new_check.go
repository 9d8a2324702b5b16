package console

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/operator"
	"campaignd/internal/plot"
	"campaignd/recipients"
)

// checkView is the page that says what would be sent.
type checkView struct {
	draftView
	Found   *launch.Preflight
	Lede    string
	Faults  []file.Finding // what has to be mended first; the rows are not shown then
	OfList  bool           // they are faults of the list
	Header  []string
	Rows    []faultyRow
	Skipped []reason
	Phone   *phone
	Row     int64
	NoRow   string // why there is no message to show
	To      string // the number of the last test message

	Forecast *forecastView // nil: nothing can be sent
	Facts    []fact
	Faulty   int64 // rows that a correction can help
}

// faultyRow is a row that is not sent, with the sentence above the cell that is at fault.
type faultyRow struct {
	Line  int
	Note  string
	Cells []string
	Bad   int // the index of that cell; -1: not known
}

// Next and Before are the rows beside the one that is shown.
func (v checkView) Next() int64   { return v.Row + 1 }
func (v checkView) Before() int64 { return v.Row - 1 }

// checks are the checks of drafts, which read a whole list. They are kept for a moment, so that
// turning to the next row reads the list up to that row alone.
type checks struct {
	mu   sync.Mutex
	kept map[[sha256.Size]byte]kept
}

type kept struct {
	at       time.Time
	found    *launch.Preflight
	forecast *forecastView
}

// How long a check is kept, how many are, and the longest one.
const (
	checkKept  = 30 * time.Second
	mostChecks = 100
	maxCheck   = 10 * time.Minute
)

// of returns the check of a draft.
func (c *checks) of(ctx context.Context, dr campaign.Draft, x *operator.Prepared) (kept, error) {
	key := sha256.Sum256([]byte(dr.Staged() + "\x00" + dr.ListName + "\x00" + string(dr.Source)))
	c.mu.Lock()
	for k, old := range c.kept {
		if time.Since(old.at) > checkKept || len(c.kept) > mostChecks {
			delete(c.kept, k)
		}
	}
	was, ok := c.kept[key]
	c.mu.Unlock()
	if ok {
		return was, nil
	}
	one := kept{at: time.Now()}
	var err error
	if one.found, err = x.Check(ctx); err != nil {
		return kept{}, err
	}
	if one.found.OK() {
		f, err := x.Foresee(ctx, one.found)
		if err != nil {
			return kept{}, err
		}
		one.forecast = forecastOf(f)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept[key] = one
	return one, nil
}

// forget drops the checks: another list has come.
func (c *checks) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.kept)
}

// prepared calls do with a draft and its check.
func (v *visit) prepared(dr campaign.Draft, do func(x *operator.Prepared, one kept) error) error {
	_ = http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(maxCheck)) // tests have no deadlines
	x, err := v.process.Prepare(v.r.Context(), dr)
	if err != nil {
		return err
	}
	defer x.End()
	one, err := v.checks.of(v.r.Context(), dr, x)
	if err != nil {
		return err
	}
	return do(x, one)
}

func newCheck(v *visit, dr campaign.Draft) (any, error) {
	out := checkView{draftView: v.draftView(dr, stepCheck, "Check"), To: v.r.URL.Query().Get("to")}
	row, err := position(v.r.URL.Query().Get("row"))
	if err != nil {
		return nil, err
	}
	return out, v.prepared(dr, func(x *operator.Prepared, one kept) error {
		found := one.found
		out.Found, out.Header, out.Forecast, out.Facts = found, found.Header, one.forecast, facts(x, found)
		if out.Faults = found.Errors(); len(out.Faults) > 0 {
			out.OfList = found.ListAtFault()
			if found.Sendable == 0 {
				out.Rows = faultyRows(found, x.File.Definition) // they may all be of one kind
			}
			for i := range out.Faults {
				if strings.HasPrefix(out.Faults[i].Remedy, "`campaignd ") {
					out.Faults[i].Remedy = "" // it is for a shell; the page has the rows
				}
			}
			out.Lede = "This has to be mended before anything can be sent."
			return nil
		}
		out.Lede = checkLede(found)
		out.Rows = faultyRows(found, x.File.Definition)
		counts := map[string]int64{}
		for reason, n := range found.Skipped {
			counts[string(reason)] = n
			if reason.Correctable() {
				out.Faulty += n
			}
		}
		out.Skipped = reasons(campaign.Skipped, counts, func(s string) string { return campaign.SkipReason(s).Sentence() })
		s, err := x.Sample(v.r.Context(), row)
		refused, _ := launch.RefusalOf(err)
		switch {
		case errors.Is(err, launch.ErrNoRow), refused != "":
			out.NoRow = operator.WithoutFolder(forPage(err), x)
		case err != nil:
			return err
		default:
			p := phoneOf(dr, x, found, s)
			out.Phone, out.Row = &p, s.Row
		}
		return nil
	})
}

// checkLede is the sentence of a check without errors.
func checkLede(p *launch.Preflight) string {
	text := plot.Count(p.Sendable) + " messages can be sent."
	switch p.Sendable {
	case 0:
		text = "No message can be sent."
	case 1:
		text = "1 message can be sent."
	}
	if skipped := p.Rows - p.Sendable; skipped == 1 {
		text += " 1 row is skipped."
	} else if skipped > 0 {
		text += " " + plot.Count(skipped) + " rows are skipped."
	}
	switch {
	case p.Duration <= 0 || p.Sendable == 0:
	case p.Duration < time.Minute:
		text += " Sent now, it takes less than a minute."
	default:
		text += " Sent now, it takes about " + plot.Duration(p.Duration)
		if p.LimitedBy != "" && p.LimitedBy != campaign.ByNone {
			text += ", because of the " + word(p.LimitedBy)
		}
		text += "."
	}
	return text
}

// shownRows is the most faulty rows of a page.
const shownRows = 30

// atPlace is the place of a fault, which the table of faulty rows shows.
var atPlace = regexp.MustCompile(`^line \d+(?:, column "(?:[^"\\]|\\.)*"(?: and column "(?:[^"\\]|\\.)*")?)?: `)

// faultyRows are the first rows of each reason that a correction can help, in the order of the
// list.
func faultyRows(p *launch.Preflight, d *file.Definition) (rows []faultyRow) {
	to := slices.IndexFunc(p.Header, func(h string) bool { return slices.Contains(d.Recipients.Columns[recipients.FieldTo], h) })
	for _, e := range p.Examples {
		if e.Cells == nil || !e.Reason.Correctable() {
			continue
		}
		row := faultyRow{Line: e.Line, Note: atPlace.ReplaceAllString(e.Note, ""), Cells: e.Cells, Bad: -1}
		switch e.Reason {
		case campaign.InvalidPhone, campaign.MissingPhone, campaign.Duplicate:
			row.Bad = to
			if to < 0 {
				row.Bad = slices.Index(e.Cells, e.To)
			}
		default:
			row.Bad = slices.IndexFunc(p.Header, func(h string) bool { return h != "" && strings.Contains(e.Note, h) })
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b faultyRow) int { return a.Line - b.Line })
	return rows[:min(len(rows), shownRows)]
}

// sendTest sends the message of a row to the visitor's own phone.
func sendTest(v *visit, dr campaign.Draft) (done, error) {
	row, err := position(v.form.Get("row"))
	if err != nil {
		return done{}, err
	}
	x, err := v.process.Prepare(v.r.Context(), dr)
	if err != nil {
		return done{}, err
	}
	defer x.End()
	s, _, err := x.SendTest(v.r.Context(), v.d, row, strings.TrimSpace(v.form.Get("to")))
	if p := problemOf(v.ctx, err); p != nil {
		return done{}, &problem{p.status, operator.WithoutFolder(p.sentence, x)}
	}
	if err != nil {
		return done{}, err
	}
	return done{to: draftPath(dr.ID) + "/check", said: "The service accepted the test message to " + s.To + ". Look at the phone."}, nil
}

// rejects downloads the rows that a correction can help, as a list with the reason of each.
func rejects(v *visit, _ campaign.Draft, x *operator.Prepared) (any, error) {
	_ = http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(maxCheck)) // tests have no deadlines
	write, err := v.process.Rejects(v.r.Context(), x.File, x.List)
	if err != nil {
		return nil, &problem{http.StatusConflict, sentence(operator.WithoutFolder(err.Error(), x))}
	}
	v.download(operator.CSV, "rejects", write)
	return nil, nil //nolint:nilnil // it has answered
}
