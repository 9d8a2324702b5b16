package console

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/why"
	"campaignd/internal/client/resource"
	"campaignd/internal/messaging"
	"campaignd/internal/operator"
	words "campaignd/internal/sentence"
)

// personView is what the ledger has of one number.
type personView struct {
	To           string // as it was typed; "": no number was asked for
	Suppressions []why.ShownSuppression
	Messages     []message
	First        bool   // it is the first page
	Next         string // the address of the next page
	Erases       bool   // the visitor may erase the number
}

// message is one row of a run, as a story: why it has no message, or how far the message came.
type message struct {
	resource.PersonMessage
	Why   string // "": the status says it
	Story []reached
}

type reached struct {
	What string
	At   time.Time
}

// Lede says whether the number may be sent to.
func (v personView) Lede() string {
	switch {
	case v.To == "":
		return "See what was sent to a phone number, and whether it may be sent to."
	case len(v.Suppressions) == 0:
		return clip(v.To) + " is not on the suppression list."
	}
	return "Not all messages may be sent to " + clip(v.To) + "."
}

func person(v *visit) (any, error) {
	ctx, q := v.r.Context(), v.r.URL.Query()
	out := personView{To: strings.TrimSpace(q.Get("to")), First: q.Get("after") == "",
		Erases: v.who.Company == "" && v.who.Scope.Allows(campaign.KeyAdmin)}
	if out.To == "" {
		return out, nil
	}
	after, err := position(q.Get("after"))
	if err != nil {
		return nil, err
	}
	if out.Suppressions, err = v.d.ShowSuppressions(ctx, out.To); err != nil {
		return nil, err
	}
	page, next, err := v.d.Person(ctx, out.To, after, mostRows)
	for i := range page {
		out.Messages = append(out.Messages, messageOf(page[i]))
	}
	if next > 0 {
		out.Next = "/console/person?" + url.Values{"to": {out.To}, "after": {strconv.FormatInt(next, 10)}}.Encode()
	}
	return out, err
}

// exportPerson answers with everything that the ledger has about a number.
func exportPerson(v *visit) (any, error) {
	_ = http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(maxCheck)) // rows may be read; tests have no deadlines
	all, err := v.d.ExportPerson(v.r.Context(), strings.TrimSpace(v.r.URL.Query().Get("to")))
	if err != nil {
		return nil, err
	}
	v.download(operator.JSON, "person", func(w io.Writer) error {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(all)
	})
	return nil, nil //nolint:nilnil // it has answered
}

func messageOf(m resource.PersonMessage) message {
	out := message{PersonMessage: m}
	switch m.Status {
	case campaign.Skipped:
		out.Why = cmp.Or(campaign.SkipReason(m.Reason).Sentence(), word(m.Reason))
	case campaign.Failed, campaign.Refused:
		out.Why = "no code came with it"
		if m.Code != "" {
			out.Why = messaging.Sentence(m.Code)
		}
	case campaign.InDoubt, campaign.Unknown:
		out.Why = "it may have been sent: " + word(cmp.Or(m.Code, m.Reason, "no answer came"))
	case campaign.Queued, campaign.Sending, campaign.Accepted, campaign.Sent, campaign.Delivered, campaign.Read:
	}
	for _, e := range []reached{{"accepted", m.AcceptedAt}, {"sent", m.SentAt}, {"delivered", m.DeliveredAt}, {"read", m.ReadAt},
		{"failed", m.FailedAt}} {
		if !e.At.IsZero() {
			out.Story = append(out.Story, e)
		}
	}
	return out
}

func askErase(v *visit) question {
	to := strings.TrimSpace(v.form.Get("to"))
	return question{Asked: "Erase " + clip(to) + "?",
		What: "The number, its variables, message ids, opt-outs and events go from every run, for ever. Totals stay, and the number is never " +
			"sent to again. Lists, exports and backups outside of campaignd keep it.",
		Yes: "Erase the number", Back: "/console/person?" + url.Values{"to": {to}}.Encode(), Again: to}
}

func erase(v *visit) (done, error) {
	to := strings.TrimSpace(v.form.Get("to"))
	if to == "" {
		return done{}, &problem{http.StatusBadRequest, "There is no number to erase. Find the person first."}
	}
	erased, err := v.d.Erase(v.ctx, to) // to its end, also if the browser is closed
	said := "The number is erased from " + words.Count(erased.Rows, "row", "rows") + " and is never sent to again."
	if erased.UnderWay > 0 {
		said += " " + words.Count(erased.UnderWay, "row is", "rows are") + " under way and keep it until they end. Erase it again then."
	}
	if erased.Lists > 0 {
		said += " " + words.Count(erased.Lists, "list is", "lists are") + " being made or imported and may have it. Erase it again then."
	}
	return done{to: "/console/person", said: said}, err
}
