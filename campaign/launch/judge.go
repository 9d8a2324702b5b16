package launch

import (
	"errors"
	"fmt"
	"strings"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// judge turns rows into deliveries. Preflight and import share it, so that `check` counts what a
// run will do. Rows must come in the order of the list: the first sendable row of a phone key
// wins, and later ones are duplicates.
type judge struct {
	run     campaign.RunNo
	render  *file.Renderer
	senders map[int64]bool
	seen    recipients.KeySet
	name    string        // of the campaign
	holdout *file.Holdout // nil: nobody is held out
	zones   *zones        // nil unless the window is in the recipients' zones
}

func newJudge(d *file.Definition, render *file.Renderer, run campaign.RunNo, senders []int64) *judge {
	j := &judge{run: run, render: render, name: d.Name, holdout: d.Holdout, senders: make(map[int64]bool, len(senders))}
	for _, key := range senders {
		j.senders[key] = key != 0
	}
	if d.Window != nil && d.Window.Timezone == file.ZoneOfRecipient {
		j.zones = newZones(d)
	}
	return j
}

// maxTo is the most bytes that are kept of a cell that is no number, which may have a megabyte.
const maxTo = 64

// delivery decides what becomes of a row. The caller sets Seq.
func (j *judge) delivery(row *recipients.Row) campaign.Delivery {
	d := campaign.Delivery{Run: j.run, Row: row.Number, To: row.To, Key: row.Key, Cells: row.Cells}
	column, filtered := j.render.Filtered(row.Cells)
	// A row that the campaign does not choose has no fault to correct. The cells of a malformed
	// row are not certain.
	if f := row.Fault; f != nil && (!filtered || f.Kind == recipients.MalformedRow) {
		d.To, d.Key, d.Skip, d.Note = sentence.Clip(row.To, maxTo), 0, campaign.SkipReason(f.Kind), f.Message
		return d
	}
	skip := func(reason campaign.SkipReason, why string) campaign.Delivery {
		d.Skip, d.Note = reason, fmt.Sprintf("line %d: %s", row.Line, why)
		return d
	}
	if filtered {
		if row.Fault != nil {
			d.To = sentence.Clip(row.To, maxTo)
		}
		return skip(campaign.Filtered, fmt.Sprintf("column %q has no value that recipients.where names", sentence.Shorten(column, 40)))
	}
	if reason, why := j.render.LeftOut(row.Cells); reason != "" {
		return skip(reason, why)
	}
	if country := unsupportedCountry(row.To); country != "" {
		return skip(campaign.UnsupportedCountry, "the platform does not deliver to "+country+" (it refuses with 130497)")
	}
	if j.senders[row.Key] {
		return skip(campaign.RecipientIsSender, campaign.RecipientIsSender.Sentence())
	}
	if j.seen.Has(row.Key) {
		return skip(campaign.Duplicate, campaign.Duplicate.Sentence())
	}
	if err := j.render.Check(row.Cells); err != nil {
		var v *file.VariableError
		if !errors.As(err, &v) { // Check returns no other error
			return skip(campaign.InvalidVariable, err.Error())
		}
		return skip(v.Reason, v.Error())
	}
	j.seen.Add(row.Key)
	if j.holdout.Holds(j.name, row.Key) { // last, so that nobody else is in the group that is compared
		d.Skip = campaign.HeldOut
	}
	return d
}

// senderKey is the key of a connection's number, which services write with spaces and signs; 0
// when it is not a number.
func senderKey(phone string) int64 {
	return recipients.Key(strings.NewReplacer(" ", "", "-", "", "(", "", ")", "", ".", "").Replace(phone))
}

// unsupportedCountry names the country of a number to which the platform does not deliver
// (docs/service.md#phone-numbers). Crimea, Donetsk and Luhansk have no calling code of their own;
// the platform refuses their numbers.
func unsupportedCountry(to string) string {
	switch {
	case strings.HasPrefix(to, "+53"):
		return "Cuba"
	case strings.HasPrefix(to, "+98"):
		return "Iran"
	case strings.HasPrefix(to, "+850"):
		return "North Korea"
	case strings.HasPrefix(to, "+963"):
		return "Syria"
	}
	return ""
}

// groupOf is the window group of a row: "" when the window is the same for all rows.
func (j *judge) groupOf(row *recipients.Row) string {
	if j.zones == nil {
		return ""
	}
	group, _ := j.zones.group(row)
	return group
}
