package launch

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/price"
	"campaignd/internal/messaging"
	"campaignd/recipients"
)

// suppressionBatch is how many recipients one call looks up, or stores, in the suppression list.
const suppressionBatch = 1000

// PreflightInput is what a preflight checks. Definition, File and List are required.
type PreflightInput struct {
	Definition *file.Definition
	// Source is the content of the campaign file, from which findings name lines; nil reads File.
	Source []byte
	// File is the path of the campaign file; header files are relative to it.
	File string
	// List is the path of the list.
	List string
	// Service is asked for connections, numbers and templates; nil checks only what needs no service.
	Service messaging.Service
	// Template stands for the service's record of the template where Service is nil; it may be nil.
	Template *messaging.TemplateRecord
	// Suppressions tells which recipients must not be sent to, now or at all; nil does not count them.
	Suppressions KeyLedger
	// Reached tells which connection reached a recipient before, for NumbersSticky; nil does not count
	// the bound rows.
	Reached senderLedger
	// Rate returns the configured limit of a connection in messages per second, 0 for none; it may be
	// nil.
	Rate func(connection string) float64
	// Tier returns the configured tier of a connection, as config.Number.Tier; it may be nil.
	Tier func(connection string) int64
	// Company returns the configured company of a connection, which counts for opt-outs before the one
	// that the service tells; "" for none. It may be nil.
	Company func(connection string) string
	// OptOut knows the words and the titles of buttons that opt out.
	OptOut messaging.OptOut
	// Commerce says that a commerce platform is configured, which holdout and conversions need.
	Commerce bool
	// Offer is what the commerce platform told of an audience; nil: the list is of no audience.
	Offer *Offer
	// Repeats asks who got the template before; nil: nobody is asked about.
	Repeats *Repeats
	// Examples is how many rows are shown for each reason; 0: FewExamples.
	Examples int
	// Rejects is called, in the order of the list, for each row that is not sent and that a correction
	// can help (SkipReason.Correctable), unless another row sends to its number; it may be nil.
	Rejects func(campaign.Reject) error
	// Progress is called every thousand rows with the rows read so far; it may be nil.
	Progress func(rows int64)
}

// KeyLedger tells which recipients must not be sent to, by recipients.Key.
type KeyLedger interface {
	SuppressedKeys(ctx context.Context, keys []int64, marketing bool, companies []string, now time.Time) (map[int64]campaign.SkipReason, error)
	CappedKeys(ctx context.Context, keys []int64, limit campaign.FrequencyLimit, now time.Time) (map[int64]bool, error)
}

// FewExamples is how many rows of each reason are shown on a screen.
const FewExamples = 5

// CountryCount counts the sendable rows of one country.
type CountryCount struct {
	Country string `json:"country"` // ISO 3166; "" for global networks
	Rows    int64  `json:"rows"`
}

// ConnectionCheck is what the service tells of one connection of the campaign.
type ConnectionCheck struct {
	ID          string `json:"id"`
	Phone       string `json:"phone,omitempty"`
	Quality     string `json:"quality,omitempty"`
	Tier        string `json:"tier,omitempty"`
	Coexistence bool   `json:"coexistence,omitempty"`
	// Throughput is the platform's limit of the number, in messages per second; 0: unknown.
	Throughput float64 `json:"throughput,omitempty"`
	// Pace is the rate that the number will be sent at, in messages per second.
	Pace float64 `json:"pace"`
}

// Preflight is what a check of a campaign and its list found, before anything is sent.
type Preflight struct {
	Campaign  string                        `json:"campaign"`
	List      string                        `json:"list"`
	ListHash  string                        `json:"list_sha256,omitempty"` // "" when the list cannot be read to its end
	Dialect   string                        `json:"dialect,omitempty"`
	Header    []string                      `json:"header,omitempty"`
	Category  string                        `json:"category,omitempty"`
	Marketing bool                          `json:"marketing"` // opt-outs apply
	Rows      int64                         `json:"rows"`
	Sendable  int64                         `json:"sendable"`
	Skipped   map[campaign.SkipReason]int64 `json:"skipped"`
	Examples  []campaign.Reject             `json:"examples,omitempty"` // the first rows of each reason
	Countries []CountryCount                `json:"countries,omitempty"`
	// Cost is what the sendable rows cost; nil without rates or a category. `check` fills it.
	Cost *price.Estimate `json:"cost,omitempty"`
	// Bound counts the sendable rows by the connection that reached their recipients before
	// (NumbersSticky).
	Bound       map[string]int64  `json:"bound,omitempty"`
	Connections []ConnectionCheck `json:"connections,omitempty"`
	Pace        float64           `json:"pace"` // messages per second over all connections
	// Capped counts the sendable rows whose recipients have got as many messages as
	// policies.frequency_cap allows now. If the campaign is launched now, these rows are skipped, or
	// wait.
	Capped int64 `json:"frequency_capped,omitzero"`
	// SentBefore says who of the list got the template before; nil: that was not compared.
	SentBefore *SentBefore `json:"sent_before,omitempty"`
	// Duration is the time from the first message to the last answer: at Pace alone, unless LimitedBy
	// is set. 0 means that it is not known.
	Duration time.Duration `json:"-"`
	Seconds  float64       `json:"duration_seconds"` // Duration
	// LimitedBy is what limits the run for longest; `check` fills it, and then Duration, from the
	// forecast.
	LimitedBy campaign.LimitedBy `json:"limited_by,omitempty"`
	Findings  []file.Finding     `json:"findings,omitempty"`
	// QuickReplies are those of the template, if the service told it.
	QuickReplies []file.QuickReply `json:"quick_replies,omitempty"`
	Window       *WindowCheck      `json:"window,omitempty"` // nil without a window; `check` fills it
	Launch       *Check            `json:"launch,omitempty"` // nil with a fault; `check` fills it
	// Assumed are the operations of the service that were asked and that its document does not show,
	// and the keys of Offer.Assumed; NotOffered are the operations that the service does not have.
	// `check` fills both.
	Assumed    []string `json:"assumed,omitempty"`
	NotOffered []string `json:"not_offered,omitempty"`

	// Zones counts the sendable rows by window group (plan.Zones): all under "" unless the window is
	// in the recipients' zones. Rows that the frequency cap would skip now are not among them.
	Zones map[string]int64 `json:"-"`

	Template *messaging.TemplateRecord `json:"-"` // the service's record; nil when the service was not asked
	Senders  []int64                   `json:"-"` // keys of the campaign's own numbers

	Offer *Offer `json:"-"` // as in the input

	began     time.Time              // before the service was asked for the template
	known     []messaging.Connection // that the API key reaches
	listFault bool                   // an error is about the list
	delimiter string                 // the character between the cells of the list; "": it cannot be read
}

// OK reports whether the campaign can be launched: no finding is an error, and at least one row can
// be sent.
func (p *Preflight) OK() bool { return len(p.Errors()) == 0 && p.Sendable > 0 }

// Unlisted returns the ids that the service does not list among its connections, in their order. It
// returns nil if the service was not asked.
func (p *Preflight) Unlisted(ids []string) (unlisted []string) {
	for _, id := range ids {
		if p.known != nil && !slices.ContainsFunc(p.known, func(k messaging.Connection) bool { return k.ID == id }) {
			unlisted = append(unlisted, id)
		}
	}
	return unlisted
}

// ListAtFault reports whether the list alone prevents the launch: it cannot be read, lacks a column
// that the campaign uses, or has no row that can be sent.
func (p *Preflight) ListAtFault() bool { return p.listFault || len(p.Errors()) == 0 && p.Sendable == 0 }

// Errors lists the findings that prevent a launch.
func (p *Preflight) Errors() []file.Finding { return p.level(file.LevelError) }

// Warnings lists the other findings.
func (p *Preflight) Warnings() []file.Finding { return p.level(file.LevelWarning) }

func (p *Preflight) level(l file.Level) []file.Finding {
	return slices.DeleteFunc(slices.Clone(p.Findings), func(f file.Finding) bool { return f.Level != l })
}

// BadRows counts the rows with a fault of the list itself. It does not count the rows that the
// campaign does not choose or holds out, and those of recipients who are suppressed, unreachable or
// have opted out.
func (p *Preflight) BadRows() int64 {
	n := p.Rows - p.Sendable
	for _, r := range []campaign.SkipReason{campaign.OptedOut, campaign.Suppressed, campaign.Unreachable, campaign.Filtered,
		campaign.NoConsent, campaign.OtherLanguage, campaign.NoPaymentLink, campaign.HeldOut, campaign.SentBefore} {
		n -= p.Skipped[r]
	}
	return n
}

// RunPreflight checks a campaign and reads its list once, without sending or storing anything.
// Faults of the campaign, the template or the list are findings. The error is one that prevented
// the check: the service or the ledger did not answer, or ctx ended.
func RunPreflight(ctx context.Context, in PreflightInput) (*Preflight, error) {
	d := in.Definition
	c := &check{in: in, d: d, p: &Preflight{
		Campaign: d.Name, List: in.List, Category: d.Template.Category,
		Skipped: map[campaign.SkipReason]int64{}, Zones: map[string]int64{}, Offer: in.Offer, began: time.Now(),
	}}
	src := in.Source
	if src == nil {
		_, src, _ = file.Load(in.File) // only for line numbers
	}
	c.src = file.ReadSource(in.File, src)
	c.media()
	c.purchases()
	if in.Service != nil {
		if err := c.service(ctx); err != nil {
			return nil, err
		}
	} else {
		for _, id := range d.Connections {
			c.connection(id, messaging.Connection{ID: id}, messaging.Number{}, true)
		}
		if c.p.Template = in.Template; in.Template != nil {
			file.CheckRecord(&d.Template, in.Template, "", c.say)
			file.CheckLink(d, in.Template, "", c.say)
		}
	}
	c.p.Marketing = d.Marketing(c.p.Category)
	c.unagreed()
	c.unread()
	if in.Reached != nil {
		var err error
		if c.sticky, err = newSticky(ctx, in.Reached, d); err != nil {
			return nil, err
		}
		c.p.Bound = map[string]int64{}
	}
	if err := c.sentBefore(ctx); err != nil {
		return nil, err
	}
	if err := c.list(ctx); err != nil {
		return nil, err
	}
	c.totals()
	list := campaign.Run{ListName: in.List}
	for i := range c.p.Findings {
		c.p.Findings[i].Where = list.WithoutUpload(c.p.Findings[i].Where)
	}
	return c.p, nil
}

// check is a preflight while it runs.
type check struct {
	in       PreflightInput
	d        *file.Definition
	p        *Preflight
	src      *file.Source
	render   *file.Renderer
	longest  int // characters of the longest coupon code
	zones    zoneCounts
	tiers    int64 // sum of the tiers of the numbers; 0: none is known
	noTier   bool  // a number is unlimited or its tier is not known, so tiers is no limit
	suspects file.Suspects
	sticky   *sticky
	met      *recipients.KeySet // who got the template before
	listedBy string             // the connection whose account has Preflight.Template
	// companies are those that the connections belong to; "": one is not known.
	companies []string
}

func (c *check) say(kind file.Kind, path, what, remedy string) { c.sayOf(0, kind, path, what, remedy) }

// sayOf is say for a finding about so many rows.
func (c *check) sayOf(rows int64, kind file.Kind, path, what, remedy string) {
	f := c.src.Finding(kind, path, what, remedy)
	f.Count = rows
	if !slices.ContainsFunc(c.p.Findings, func(g file.Finding) bool { return g.String() == f.String() }) {
		c.p.Findings = append(c.p.Findings, f)
	}
}

// media checks the medium of the header.
func (c *check) media() {
	kind, m := c.d.Template.Header.Media()
	if m == nil {
		return
	}
	path := "template.header." + kind
	switch {
	case m.File != "":
		if _, err := file.CheckMedia(kind, filepath.Dir(c.in.File), m.File); err != nil {
			c.say(file.Fault, path+".file", err.Error(), "")
		}
	case m.AssetID != "" && c.d.Schedule != nil && c.d.Schedule.At == "":
		c.say(file.KindMedia, path+".assetId",
			"the service deletes an asset 30 days after its upload, and this campaign recurs",
			"use file: it is uploaded again for each run")
	case m.AssetID != "" && c.d.Limits.NotAfter == 0 && c.d.Window != nil:
		c.say(file.KindMedia, path+".assetId",
			"the service deletes an asset 30 days after its upload; sends after that are refused",
			"use file, or make sure that the asset outlives the run")
	case m.ID != "":
		c.say(file.KindMedia, path+".id",
			"the platform keeps a media id for 30 days (7 when it came from a webhook)",
			"use file: it is uploaded for each run")
	case m.Link != "":
		c.say(file.KindMedia, path+".link",
			"the platform fetches a link by itself while sending, which is slower and may fail (131053)",
			"use file for media that are the same for all")
	}
}
