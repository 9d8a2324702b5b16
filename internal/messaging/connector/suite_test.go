package connector

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/messaging/cloud"
	"campaignd/internal/messaging/service"
	"campaignd/internal/sandbox"
)

// timeout is long enough for any answer of a sandbox on a busy machine. The one fault that hangs
// takes as long.
const timeout = 5 * time.Second

// world is a sandbox with both wires, and a Set that has one connector.
func world(t *testing.T, api string, change func(*sandbox.Options)) (*Set, *sandbox.Sandbox) {
	t.Helper()
	o := sandbox.Demo()
	o.API, o.Statuses.Off, o.RequireAppSecret = api, true, true
	if change != nil {
		change(&o)
	}
	s, err := sandbox.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(func() { s.Close(); server.Close() })
	set := &Set{}
	if api == sandbox.APICloud {
		set.Cloud, err = cloud.New(cloud.Options{BaseURL: server.URL, Timeout: timeout, Names: map[string]string{"conn_1": "300000000000001"},
			Accounts: []cloud.Account{{ID: sandbox.CloudAccount, App: sandbox.CloudApp, Token: messaging.NewSecret(sandbox.DemoKey),
				AppSecret: messaging.NewSecret(sandbox.CloudAppSecret)}}})
	} else {
		set.Service, err = service.New(service.Options{BaseURL: server.URL, Timeout: timeout, APIKey: messaging.NewSecret(sandbox.DemoKey)})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	return set, s
}

// each runs a test with both connectors.
func each(t *testing.T, change func(*sandbox.Options), test func(*testing.T, *Set, *sandbox.Sandbox)) {
	t.Helper()
	for _, api := range []string{"service", sandbox.APICloud} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			set, s := world(t, api, change)
			test(t, set, s)
		})
	}
}

// accepted is how many messages a sandbox accepted.
func accepted(s *sandbox.Sandbox) (n int64) {
	for _, c := range s.Stats().Connections {
		n += c.Accepted
	}
	return n
}

func order(to string) *messaging.Message {
	return &messaging.Message{ConnectionID: "conn_1", To: to,
		Template: &messaging.Template{Name: "order_update", Language: "en_US", Body: []string{"Ada", "A-1"}}}
}

func TestBothConnectorsListTheSame(t *testing.T) {
	each(t, nil, func(t *testing.T, set *Set, _ *sandbox.Sandbox) {
		connections, err := set.Connections(t.Context())
		if err != nil || len(connections) != 4 {
			t.Fatalf("got %d connections, %v; want 4", len(connections), err)
		}
		for _, c := range connections {
			if c.ID == "conn_1" && c.Phone != "+15555550100" {
				t.Errorf("got %+v, want the number +15555550100", c)
			}
		}
		numbers, err := set.Numbers(t.Context())
		if err != nil || len(numbers) != 4 {
			t.Fatalf("got %d numbers, %v; want 4", len(numbers), err)
		}
		for _, n := range numbers {
			if n.Throughput != 1000 || n.TierLimit != messaging.Unlimited {
				t.Errorf("got %+v, want 1000 messages per second and no tier", n)
			}
		}
		templates, err := set.Templates(t.Context(), "conn_1")
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range templates {
			if x.Name == "spring_sale" && (x.Status != "APPROVED" || x.Category != "MARKETING" ||
				len(x.Component("BODY").Variables()) != 2 || len(x.Component("BUTTONS").Buttons) != 2) {
				t.Errorf("got %+v, want spring_sale with two variables and two buttons", x)
			}
		}
	})
}

func TestBothConnectorsSendTheSame(t *testing.T) {
	each(t, nil, func(t *testing.T, set *Set, s *sandbox.Sandbox) {
		a, err := set.UploadMedia(t.Context(), "conn_1", "a.png", "image/png", strings.NewReader("\x89PNG\r\n\x1a\n0000"))
		if err != nil || time.Until(a.ExpiresAt) < 29*24*time.Hour {
			t.Fatalf("got %+v, %v; want a file for 30 days", a, err)
		}
		for _, m := range []*messaging.Message{
			order("+15555550101"),
			{ConnectionID: "conn_1", To: "+15555550102", Template: &messaging.Template{Name: "spring_sale", Language: "en_US",
				Body: []string{"Ada", "10 %"}, Buttons: []messaging.TemplateButton{{Type: "url", Text: "a-1"}}}},
			{ConnectionID: "conn_1", To: "+15555550103", Template: &messaging.Template{Name: "spring_sale_banner", Language: "en_US",
				Body: []string{"Ada", "10 %"}, Header: &messaging.Header{Image: &messaging.Media{AssetID: a.ID}},
				Buttons: []messaging.TemplateButton{{Type: "url", Text: "a-1"}}}},
		} {
			r, err := set.Send(t.Context(), m)
			if err != nil || !messaging.UsableID(r.MessageID) {
				t.Errorf("%s: got %+v, %v; want an id", m.Template.Name, r, err)
			}
		}
		var got []string
		for m := range s.Messages() {
			got = append(got, m.Template+" "+strings.Join(m.Values, "|"))
		}
		want := "order_update Ada|A-1, spring_sale Ada|10 %|a-1, spring_sale_banner Ada|10 %|a-1"
		if strings.Join(got, ", ") != want {
			t.Errorf("the sandbox got %v, want %s", got, want)
		}
	})
}

// A refusal proves that nothing was sent, and both wires give it the same consequences.
func TestBothConnectorsReadRefusalsTheSame(t *testing.T) {
	for _, c := range []struct {
		code   int
		action messaging.Action
		hold   messaging.Hold
		feed   messaging.Feed
	}{
		{130429, messaging.Slow, messaging.HoldNothing, messaging.FeedNothing},
		{131056, messaging.WaitPair, messaging.HoldNothing, messaging.FeedNothing},
		{131026, messaging.Refuse, messaging.HoldNothing, messaging.FeedUnreachable},
		{131050, messaging.Refuse, messaging.HoldNothing, messaging.FeedOptOut},
		{132015, messaging.RetryLater, messaging.HoldTemplate, messaging.FeedNothing},
		{131042, messaging.RetryLater, messaging.HoldAccount, messaging.FeedNothing},
		{132000, messaging.Refuse, messaging.HoldPayload, messaging.FeedNothing},
	} {
		refuse := func(o *sandbox.Options) { o.Faults.Refusals = []sandbox.Refusal{{Code: c.code, Share: 1}} }
		each(t, refuse, func(t *testing.T, set *Set, _ *sandbox.Sandbox) {
			_, err := set.Send(t.Context(), order("+15555550101"))
			e, ok := errors.AsType[*messaging.Error](err)
			if !ok || e.Proof != messaging.NotSent || e.Action != c.action || e.Hold != c.hold || e.Feed != c.feed || e.Platform != c.code {
				t.Errorf("%d: got %+v, want not sent, action %d, hold %d, feed %d", c.code, err, c.action, c.hold, c.feed)
			}
		})
	}
}

// After the acceptance no fault is taken for a refusal: the message is in doubt.
func TestBothConnectorsDoubtWhatMayBeAccepted(t *testing.T) {
	for name, change := range map[string]func(*sandbox.Faults){
		"lost_after":      func(f *sandbox.Faults) { f.LostAfter = 1 },
		"hang_after":      func(f *sandbox.Faults) { f.HangAfter, f.HangFor = 1, time.Minute },
		"error_after 500": func(f *sandbox.Faults) { f.ErrorAfter, f.Codes = 1, []int{500} },
		"error_after 502": func(f *sandbox.Faults) { f.ErrorAfter, f.Codes = 1, []int{502} },
		"error_after 503": func(f *sandbox.Faults) { f.ErrorAfter, f.Codes = 1, []int{503} },
		"error_after 408": func(f *sandbox.Faults) { f.ErrorAfter, f.Codes = 1, []int{408} },
		"no_id":           func(f *sandbox.Faults) { f.NoID = 1 },
		"empty_body":      func(f *sandbox.Faults) { f.EmptyBody = 1 },
		"cut_body":        func(f *sandbox.Faults) { f.CutBody = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(o *sandbox.Options) { change(&o.Faults) }, func(t *testing.T, set *Set, s *sandbox.Sandbox) {
				_, err := set.Send(t.Context(), order("+15555550101"))
				e, ok := errors.AsType[*messaging.Error](err)
				if !ok || e.Proof == messaging.NotSent {
					t.Errorf("got %v of an accepted message, want a doubt", err)
				}
				if n := accepted(s); n != 1 {
					t.Errorf("the sandbox accepted %d, want 1", n)
				}
			})
		})
	}
}

// A message that its Before refuses leaves no byte.
func TestBothConnectorsAskBeforeTheFirstByte(t *testing.T) {
	each(t, nil, func(t *testing.T, set *Set, s *sandbox.Sandbox) {
		withdrawn := errors.New("withdrawn")
		m := order("+15555550101")
		m.Before = func() error { return withdrawn }
		_, err := set.Send(t.Context(), m)
		e, ok := errors.AsType[*messaging.Error](err)
		if !ok || e.Proof != messaging.NotSent || !errors.Is(err, withdrawn) {
			t.Errorf("got %v, want not sent because of Before", err)
		}
		m.Before, m.Until = nil, time.Now().Add(-time.Second)
		if _, err = set.Send(t.Context(), m); !errors.Is(err, messaging.ErrLate) {
			t.Errorf("got %v, want ErrLate", err)
		}
		if n := accepted(s); n != 0 {
			t.Errorf("the sandbox accepted %d, want 0", n)
		}
	})
}

// With both connectors each connection is asked of its own.
func TestEachConnectionHasItsConnector(t *testing.T) {
	both, viaService := world(t, "service", nil)
	other, viaCloud := world(t, sandbox.APICloud, nil)
	both.Cloud = other.Cloud
	for connection, want := range map[string]*sandbox.Sandbox{"conn_1": viaCloud, "300000000000002": viaCloud, "conn_2": viaService} {
		before := accepted(want)
		m := order("+15555550199")
		m.ConnectionID = connection
		if _, err := both.Send(context.Background(), m); err != nil || accepted(want) != before+1 {
			t.Errorf("%s: got %v, and %d messages at its connector; want %d", connection, err, accepted(want), before+1)
		}
	}
	if got, err := both.Connections(t.Context()); err != nil || len(got) != 8 {
		t.Errorf("got %d connections, %v; want those of both, 8", len(got), err)
	}
}
