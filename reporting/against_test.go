package reporting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/messaging/service"
)

// counting is a service that has counted a template. It fails with the error that a connection or
// the id of a template has.
type counting struct {
	ids   map[string]string // of the template, by connection
	days  map[string][]service.TemplateDay
	fails map[string]error
	asked []string
}

func (s *counting) TemplateID(_ context.Context, connection, _, _ string) (string, error) {
	return s.ids[connection], s.fails[connection]
}

func (s *counting) TemplateDays(_ context.Context, id string, start, end time.Time) ([]service.TemplateDay, error) {
	s.asked = append(s.asked, fmt.Sprint(id, " ", dateOf(start), " ", dateOf(end)))
	return s.days[id], s.fails[id]
}

// on is noon of a day of October 2026; 0 is no time.
func on(n int) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return day(n)
}

// line is a message over a connection with the days of its states.
func line(connection string, accepted, sent, delivered, read int) campaign.Line {
	return campaign.Line{Connection: connection, AcceptedAt: on(accepted), SentAt: on(sent), DeliveredAt: on(delivered), ReadAt: on(read)}
}

func doubtful(connection string, since int) campaign.Line {
	return campaign.Line{Connection: connection, Status: campaign.InDoubt, DoubtSince: on(since)}
}

func theirDay(n int, sent, delivered, read int64) service.TemplateDay {
	return service.TemplateDay{Date: dateOf(day(n)), Sent: sent, Delivered: delivered, Read: read}
}

var springRun = campaign.Run{No: 1, Campaign: "spring", Template: "spring_sale", Language: "en_US", StartedAt: day(5), EndedAt: day(6)}

func origins(connection string) campaign.Origin {
	return campaign.Origin{Connection: connection, Account: connection, Company: "co_" + connection[len(connection)-1:]}
}

// Two connections with one template are of one account, which the service counts once. A message
// whose earlier status was lost counts with the later one.
func TestARunIsComparedByDayAndAccount(t *testing.T) {
	l := &memory{lines: []campaign.Line{
		line("conn_1", 5, 5, 5, 6), line("conn_1", 5, 5, 6, 0), line("conn_2", 5, 0, 0, 6), line("conn_3", 5, 5, 0, 0),
		{Status: campaign.Skipped}, {Connection: "conn_1", Status: campaign.Queued},
	}}
	s := &counting{ids: map[string]string{"conn_1": "tpl_1", "conn_2": "tpl_1", "conn_3": "tpl_3"}, days: map[string][]service.TemplateDay{
		"tpl_1": {theirDay(5, 2, 1, 0), theirDay(6, 1, 2, 2)}, "tpl_3": {theirDay(5, 1, 0, 0), theirDay(6, 0, 0, 0)}}}
	got, err := Compare(t.Context(), l, springRun, Against{Service: s, Origin: origins, Now: day(20)})
	if err != nil {
		t.Fatal(err)
	}
	both := func(n int, c Counted, connections ...string) ComparedDay {
		return ComparedDay{Connections: connections, Date: dateOf(day(n)), Ours: c, Theirs: c}
	}
	want := &Comparison{Template: "spring_sale", Language: "en_US", Notes: []string{}, Days: []ComparedDay{
		both(5, Counted{2, 1, 0}, "conn_1", "conn_2"), both(6, Counted{1, 2, 2}, "conn_1", "conn_2"), both(5, Counted{1, 0, 0}, "conn_3")}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if want := []string{"tpl_1 2026-10-05 2026-10-06", "tpl_3 2026-10-05 2026-10-06"}; !slices.Equal(s.asked, want) {
		t.Errorf("asked %q, want %q", s.asked, want)
	}
}

func TestEachDifferenceHasItsLikelyCause(t *testing.T) {
	definition := []byte("name: summer\nconnections: [conn_1]\ntemplate: {name: spring_sale, language: en_US}\n")
	other := campaign.Run{No: 2, Campaign: "summer", Template: "spring_sale", Language: "en_US", StartedAt: day(5), EndedAt: day(5),
		Definition: definition}
	elsewhere := other
	elsewhere.Definition = []byte(strings.Replace(string(definition), "conn_1", "conn_2", 1))
	retired := springRun
	retired.Retired.Rows = 1
	one := []campaign.Line{line("conn_1", 5, 5, 5, 0)}
	for _, c := range []struct {
		name   string
		run    campaign.Run
		lines  []campaign.Line
		theirs []service.TemplateDay
		a      Against
		want   Cause // of the first day
	}{
		{"same", springRun, one, []service.TemplateDay{theirDay(5, 1, 1, 0)}, Against{}, ""},
		{"deleted rows", retired, one, []service.TemplateDay{theirDay(5, 2, 2, 0)}, Against{}, CauseRetention},
		{"midnight", springRun, one, []service.TemplateDay{theirDay(5, 0, 0, 0), theirDay(6, 1, 1, 0)}, Against{}, CauseAnotherDay},
		{"a doubt", springRun, append(one, doubtful("conn_1", 5)), []service.TemplateDay{theirDay(5, 2, 2, 0)}, Against{}, CauseDoubt},
		{"more than the doubts", springRun, append(one, doubtful("conn_1", 5)), []service.TemplateDay{theirDay(5, 3, 1, 0)}, Against{},
			CauseElsewhere},
		{"another run", springRun, one, []service.TemplateDay{theirDay(5, 2, 1, 0)}, Against{Others: []campaign.Run{springRun, other}},
			CauseOtherRuns},
		{"a run elsewhere", springRun, one, []service.TemplateDay{theirDay(5, 2, 1, 0)}, Against{Others: []campaign.Run{elsewhere}},
			CauseElsewhere},
		{"refused events", springRun, one, []service.TemplateDay{theirDay(5, 1, 1, 1)}, Against{RefusedEvents: "x"}, CauseRefused},
		{"today", springRun, one, []service.TemplateDay{theirDay(5, 1, 0, 0)}, Against{Now: day(5)}, CauseToday},
		{"no status", springRun, append(one, line("conn_1", 5, 0, 0, 0)), []service.TemplateDay{theirDay(5, 2, 1, 0)}, Against{},
			CauseNoStatus},
		{"no later status", springRun, one, []service.TemplateDay{theirDay(5, 1, 1, 1)}, Against{}, CauseNoStatus},
		{"another program", springRun, one, []service.TemplateDay{theirDay(5, 9, 9, 0)}, Against{}, CauseElsewhere},
		{"fewer there", springRun, one, []service.TemplateDay{theirDay(5, 1, 0, 0)}, Against{}, CauseBehind},
	} {
		c.a.Service = &counting{ids: map[string]string{"conn_1": "tpl_1"}, days: map[string][]service.TemplateDay{"tpl_1": c.theirs}}
		c.a.Origin, c.a.Now = origins, firstOf(c.a.Now, day(20))
		got, err := Compare(t.Context(), &memory{lines: c.lines}, c.run, c.a)
		if err != nil || len(got.Days) == 0 {
			t.Fatalf("%s: got %+v, %v; want a day", c.name, got, err)
		}
		if first := got.Days[0]; first.Cause != c.want || (first.Sentence == "") != (c.want == "") {
			t.Errorf("%s: got %q (%s), want %q", c.name, first.Cause, first.Sentence, c.want)
		}
	}
}

// A service that cannot tell costs the report nothing but a sentence.
func TestAServiceThatCannotTellIsANote(t *testing.T) {
	refused := func(code string) error { return &messaging.Error{Status: 400, Code: code} }
	for _, c := range []struct {
		at   string // connection or id of the template
		err  error
		want string
	}{
		{"conn_1", connector.ErrOverCloud, "conn_1: it is reached over the Cloud API, where this comparison is not offered"},
		{"conn_1", connector.ErrNoTemplate, "conn_1: the service does not list the template spring_sale in en_US any more"},
		{"conn_1", errors.New("away"), "conn_1: the service did not tell its counts: away"},
		{"tpl_1", fmt.Errorf("x: %w", messaging.ErrNotOffered), "conn_1: the service does not offer template_analytics, or it has another path " +
			"(service.assumed.paths.template_analytics)"},
		{"tpl_1", refused("outside_window"), "conn_1: the service counts the last 90 days only, and by its clock these are older"},
	} {
		s := &counting{ids: map[string]string{"conn_1": "tpl_1"}, fails: map[string]error{c.at: c.err}}
		got, err := Compare(t.Context(), &memory{lines: []campaign.Line{line("conn_1", 5, 5, 5, 5)}}, springRun,
			Against{Service: s, Origin: origins, Now: day(20)})
		if err != nil || len(got.Days) != 0 || !slices.Equal(got.Notes, []string{c.want}) {
			t.Errorf("%v: got %+v, %v; want the note %q", c.err, got, err, c.want)
		}
	}
	got, err := Compare(t.Context(), &memory{}, springRun, Against{Origin: origins, Now: day(20)})
	if err != nil || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "nothing to compare") {
		t.Errorf("a run of nothing: got %+v, %v; want one note", got, err)
	}
	broken := errors.New("disk")
	if _, err := Compare(t.Context(), &memory{lines: make([]campaign.Line, 2), fail: broken, failAt: 1}, springRun,
		Against{Origin: origins}); !errors.Is(err, broken) {
		t.Errorf("a ledger that fails: got %v, want %v", err, broken)
	}
}

// The service keeps 90 days. Older days are said, and the others compared.
func TestDaysThatTheServiceForgotAreSaid(t *testing.T) {
	s := &counting{ids: map[string]string{"conn_1": "tpl_1"}, days: map[string][]service.TemplateDay{"tpl_1": {theirDay(6, 1, 1, 0)}}}
	l := &memory{lines: []campaign.Line{line("conn_1", 5, 5, 5, 0), line("conn_1", 5, 6, 6, 0)}}
	for _, c := range []struct {
		now   time.Time
		asked []string
		days  int
		note  string
	}{
		{day(5).AddDate(0, 0, 90), []string{"tpl_1 2026-10-05 2026-10-06"}, 2, ""},
		{day(6).AddDate(0, 0, 90), []string{"tpl_1 2026-10-06 2026-10-06"}, 1, "the days before 2026-10-06 were not compared"},
		{day(7).AddDate(0, 0, 90), nil, 0, "the days before 2026-10-07 were not compared"},
	} {
		s.asked = nil
		got, err := Compare(t.Context(), l, springRun, Against{Service: s, Origin: origins, Now: c.now})
		if err != nil || !slices.Equal(s.asked, c.asked) || len(got.Days) != c.days || !strings.Contains(strings.Join(got.Notes, "; "), c.note) {
			t.Errorf("at %s: got %+v, %v after %q; want %d days after %q and the note %q", dateOf(c.now), got, err, s.asked, c.days, c.asked, c.note)
		}
	}
}

func TestTheTableShowsBothCounts(t *testing.T) {
	r := &Report{Service: &Comparison{Template: "spring_sale", Language: "en_US", Notes: []string{"conn_2: a note"}, Days: []ComparedDay{
		{Connections: []string{"conn_1"}, Date: "2026-10-05", Ours: Counted{1000, 900, 400}, Theirs: Counted{1000, 900, 400}},
		{Connections: []string{"conn_1"}, Date: "2026-10-06", Ours: Counted{10, 9, 4}, Theirs: Counted{12, 9, 4}, Cause: CauseElsewhere,
			Sentence: "somebody else"}}}}
	var b strings.Builder
	if err := r.Table(&b, 0); err != nil {
		t.Fatal(err)
	}
	want := `
template spring_sale en_US by day (UTC), as counted here and at the service
  DAY              SENT     THERE  DELIVERED     THERE       READ     THERE  OVER
  2026-10-05      1,000     1,000        900       900        400       400  conn_1
  2026-10-06         10        12          9         9          4         4  conn_1

what differs, and why
  2026-10-06  somebody else
  note        conn_2: a note
`
	if got := b.String(); !strings.HasSuffix(got, want) {
		t.Errorf("got %s\nwant at the end %s", got, want)
	}
}
