package console

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/why"
	"campaignd/campaign/wording"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
	"campaignd/internal/plot"
	words "campaignd/internal/sentence"
)

// listView is a list of one kind, with what its forms need.
type listView[T any] struct {
	Items    []T
	Next     string // the address of the next page
	Operates bool   // the visitor may use the forms
	All      bool   // the filter is off
	State    string
	Scopes   []campaign.HoldScope
	Admin    bool
}

func listOf[T any](v *visit, items []T) listView[T] {
	return listView[T]{Items: items, Operates: v.who.Scope.Allows(campaign.KeyOperate)}
}

func holds(v *visit) (any, error) {
	all := v.r.URL.Query().Get("all") != ""
	items, err := v.d.Holds(v.r.Context(), all)
	out := listOf(v, items)
	out.All, out.Scopes = all, campaign.HoldScopes
	return out, err
}

func addHold(v *visit) (done, error) {
	form := v.form
	q := resource.HoldRequest{Scope: campaign.HoldScope(form.Get("scope")), ID: strings.TrimSpace(form.Get("id")),
		Reason: strings.TrimSpace(form.Get("reason"))}
	if s := strings.TrimSpace(form.Get("for")); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			return done{}, &problem{http.StatusBadRequest, fmt.Sprintf("The duration %q cannot be read: give it for example as 2h or 30m.", clip(s))}
		}
		lasts := campaign.Duration(d)
		q.For = &lasts
	}
	h, err := v.d.AddHold(v.r.Context(), q)
	return done{to: "/console/holds", said: sentence(h.Sentence)}, err
}

func askLift(v *visit) question {
	form := v.form
	return question{Asked: fmt.Sprintf("Lift the hold of %s %s?", word(form.Get("scope")), clip(form.Get("id"))),
		What: v.stoppedBy(form) + " What it stopped is sent again within a second. If its cause is not gone, the next refusal begins the " +
			"hold again.",
		Yes: "Lift the hold", Back: "/console/holds"}
}

// stoppedBy says which runs a hold stops.
func (v *visit) stoppedBy(form url.Values) string {
	ctx := v.r.Context()
	runs, err := v.d.Runs(ctx, campaign.RunFilter{Unfinished: true})
	if err != nil {
		return ""
	}
	var names []string
	queued := int64(0)
	for _, r := range runs[:min(len(runs), mostShown)] {
		report, err := v.d.Report(ctx, r.ID)
		if err != nil {
			return ""
		}
		if slices.ContainsFunc(report.Holds, func(h wording.HoldState) bool {
			return string(h.Scope) == form.Get("scope") && h.ID == form.Get("id")
		}) {
			names = append(names, clip(r.ID))
			queued += report.Totals[campaign.Queued]
		}
	}
	if len(names) == 0 {
		return "It stops no run now."
	}
	return fmt.Sprintf("It stops %s with %s queued rows: %s.", words.Count(len(names), "run", "runs"), plot.Count(queued),
		strings.Join(names, ", "))
}

func liftHold(v *visit) (done, error) {
	form := v.form
	ended, err := v.d.LiftHolds(v.r.Context(), resource.LiftRequest{Scope: campaign.HoldScope(form.Get("scope")), ID: form.Get("id"),
		Reason: form.Get("reason")})
	said := fmt.Sprintf("%d holds were lifted.", len(ended))
	switch len(ended) {
	case 0:
		said = "There was no such hold any more."
	case 1:
		said = "The hold was lifted."
	}
	return done{to: "/console/holds", said: said}, err
}

func suppressions(v *visit) (any, error) {
	q := v.r.URL.Query()
	items, next, err := v.d.Suppressions(v.r.Context(), "", q.Get("after"), mostRows)
	out := listOf(v, items)
	out.All = v.who.Company == ""
	if next != "" {
		out.Next = "/console/suppressions?after=" + strings.ReplaceAll(next, "+", "%2B")
	}
	return out, err
}

// suppress adds the numbers of a text, one in each line.
func suppress(v *visit) (done, error) {
	out, err := v.d.AddSuppressions(v.r.Context(), numbersIn(v.form.Get("numbers")),
		cmp.Or(campaign.Scope(v.form.Get("scope")), campaign.ScopeMarketing))
	return done{to: "/console/suppressions", said: changed(out, "suppressed", "on the list before")}, err
}

// numbersIn are the numbers of a text, apart by lines, commas or semicolons.
func numbersIn(text string) (out []string) {
	for _, one := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == ',' || r == ';' }) {
		if one = strings.TrimSpace(one); one != "" {
			out = append(out, one)
		}
	}
	return out
}

func changed(s resource.Suppressed, did, before string) string {
	text := words.Count(s.Changed, "number was ", "numbers were ") + did
	if s.Unchanged > 0 {
		text += "; " + words.Count(s.Unchanged, "was ", "were ") + before
	}
	return text + "."
}

func askUnsuppress(v *visit) question {
	return question{Asked: "Take " + clip(v.form.Get("number")) + " off the list?",
		What: "Messages can be sent to the number again. If the person opted out, they did not agree to that.", Yes: "Take it off the list",
		Back: "/console/suppressions"}
}

func unsuppress(v *visit) (done, error) {
	out, err := v.d.RemoveSuppressions(v.r.Context(), numbersIn(v.form.Get("number")), campaign.Scope(v.form.Get("scope")))
	return done{to: "/console/suppressions", said: changed(out, "taken off the list", "not on it")}, err
}

func (v *visit) suppressionsTo(w io.Writer) error { return v.d.ExportSuppressions(v.r.Context(), w) }

func numbers(v *visit) (any, error) {
	items, err := v.process.NumbersOf(v.r.Context(), v.d)
	return listOf(v, items), err
}

type numberView struct{ Number why.Number }

// Title implements titled.
func (v numberView) Title() string { return v.Number.Connection }

// number shows a connection, with the figures that all get who look at its runs in the same second.
// One that the service lists and no run uses has no lanes.
func number(v *visit) (any, error) {
	ctx, id := v.r.Context(), v.r.PathValue("connection")
	n, err := v.d.WhyNumberFrom(ctx, id, func(run string) (why.Answer, error) {
		view, err := v.figures(run, false)
		return view.Why, err
	})
	if !operator.Absent(err) {
		return numberView{n}, err
	}
	all, fault := v.process.NumbersOf(ctx, v.d)
	if fault != nil {
		return nil, fault
	}
	for _, one := range all {
		if one.Connection == id {
			return numberView{why.Number{Connection: id, LimitedBy: campaign.ByNone, Holds: one.Holds,
				Sentence: "No campaign is sent over this number now."}}, nil
		}
	}
	return nil, err
}

type schedulesView struct {
	Next, Past []resource.Firing
	Campaigns  []resource.Campaign
}

// firingsShown is the number of firings of each campaign, to come and past.
const firingsShown = 5

func schedules(v *visit) (any, error) {
	files, err := v.process.Folder()
	if err != nil {
		return nil, err
	}
	all, err := v.d.Schedule(v.r.Context(), files, "", firingsShown, firingsShown)
	if err != nil {
		return nil, err
	}
	var out schedulesView
	if out.Campaigns, err = v.d.Campaigns(v.r.Context(), files); err != nil {
		return nil, err
	}
	for _, f := range all {
		if f.Outcome == "next" {
			out.Next = append(out.Next, f)
		} else {
			out.Past = append(out.Past, f)
		}
	}
	return out, nil
}

func drops(v *visit) (any, error) {
	after, err := position(v.r.URL.Query().Get("after"))
	if err != nil {
		return nil, err
	}
	items, next, err := v.d.Drops(v.r.Context(), after, mostRows)
	out := listOf(v, items)
	if next > 0 {
		out.Next = "/console/drops?after=" + strconv.FormatInt(next, 10)
	}
	return out, err
}

func notifications(v *visit) (any, error) {
	state := v.r.URL.Query().Get("state")
	items, err := v.d.Notifications(v.r.Context(), campaign.NotificationState(state), mostRows)
	out := listOf(v, items)
	out.State = state
	return out, err
}

// numberOf reads the number of a notification in the path.
func (v *visit) numberOf() (int64, error) {
	no, err := strconv.ParseInt(v.r.PathValue("no"), 10, 64)
	if err != nil {
		return 0, &problem{http.StatusNotFound, "There is no such notification."}
	}
	return no, nil
}

type notificationView struct {
	N        resource.Notification
	Operates bool
}

// Title implements titled.
func (v notificationView) Title() string { return fmt.Sprint("Notification ", v.N.No) }

func notification(v *visit) (any, error) {
	no, err := v.numberOf()
	if err != nil {
		return nil, err
	}
	n, err := v.d.Notification(v.r.Context(), no)
	return notificationView{n, v.who.Scope.Allows(campaign.KeyOperate)}, err
}

func sendNotification(v *visit) (done, error) {
	no, err := v.numberOf()
	if err != nil {
		return done{}, err
	}
	n, err := v.d.SendNotification(v.r.Context(), no)
	said := "It is sent to " + n.Destination + " again, for three days from now."
	return done{to: fmt.Sprint("/console/notifications/", no), said: said}, err
}
