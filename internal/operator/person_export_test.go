package operator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/conversion"
	"campaignd/campaign/reception"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"

	"github.com/google/go-cmp/cmp"
)

// sentTo makes a run of two rows over a connection, sends the first one to a number and counts an
// order for it.
func sentTo(t *testing.T, l campaign.Ledger, connection, to string, key int64) campaign.Run {
	t.Helper()
	file := fmt.Sprintf("name: spring\nconnections: [%s]\ntemplate: {name: a, language: en, body: ['{{ .name }}, hello'], "+
		"buttons: [{type: url, text: 'o/{{ .order }}'}]}\n", connection)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: connection, Definition: []byte(file), Template: "a",
		Language: "en", Header: []string{"phone", "name", "order"}})
	must(err)
	must(l.AppendRows(t.Context(), r.No, 0, []campaign.Delivery{
		{Run: r.No, Row: 1, To: to, Key: key, Cells: []string{to, "Ada of " + connection, "17", "beyond"}},
		{Run: r.No, Seq: 1, Row: 2, To: "+2348031234599", Key: 2348031234599, Cells: []string{"+2348031234599", "Ben", "18"}},
	}, []campaign.Segment{{Run: r.No, Hi: 2}}))
	must(l.FinishImport(t.Context(), r.No, 2, campaign.Ready))
	leases, err := l.Claim(t.Context(), campaign.Claim{Owner: "test", Connection: connection, Runs: []campaign.RunNo{r.No}, Max: 1,
		Lease: time.Hour})
	must(err)
	_, err = l.Intend(t.Context(), []campaign.Intent{{Lease: leases[0], Connection: connection, To: 1}})
	must(err)
	at := time.Date(2026, 3, 2+int(r.No), 9, 0, 0, 0, time.UTC)
	must(l.Record(t.Context(), []campaign.Result{{Run: r.No, Connection: connection, Attempt: 1, Kind: campaign.ResultAccepted,
		At: at, Epoch: leases[0].Epoch, MessageID: "wamid." + connection, RequestID: "req"}}))
	must(l.StorePurchases(t.Context(), []conversion.Order{{ID: "order of " + connection, Key: key, Amount: "49.90", Currency: "EUR",
		CreatedAt: at.Add(time.Minute), UpdatedAt: at.Add(time.Minute), WasPaid: true}}))
	segments, err := l.SegmentStates(t.Context(), r.No)
	must(err)
	_, err = l.MatchPurchases(t.Context(), segments[0], reception.Span{Since: at, Until: at.Add(time.Hour)},
		conversion.Rule{Within: time.Hour, Count: conversion.Paid})
	must(err)
	return r
}

// kinds are the records with their runs and rows.
func kinds(records []resource.PersonRecord) (all []string) {
	for _, r := range records {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %d", r.Kind, r.Run, r.Row)))
	}
	slices.Sort(all)
	return all
}

const ada, adasKey = "+2348031234567", 2348031234567

// knownOfAda makes a session whose ledger knows a person in two runs of two companies.
func knownOfAda(t *testing.T) *operator.Session {
	t.Helper()
	d, _ := session(t)
	d.UploadsIn = t.TempDir()
	sentTo(t, d.Ledger, "conn_1", ada, adasKey)
	sentTo(t, d.Ledger, "conn_2", ada, adasKey)
	stop := campaign.Suppression{Key: adasKey, To: ada, Scope: campaign.ScopeMarketing, Source: "stop",
		At: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)}.Proven(campaign.Proof{Text: "STOP", Message: "wamid.in"})
	if _, err := d.Ledger.Apply(t.Context(), campaign.Events{Suppressions: []campaign.Suppression{stop},
		Pairs: []campaign.Pair{{UserID: "US.1", Key: adasKey, To: ada}}}); err != nil {
		t.Fatal(err)
	}
	d.Origins = func(context.Context, []campaign.Hold) func(string) campaign.Origin {
		return func(c string) campaign.Origin { return campaign.Origin{Connection: c, Company: "co of " + c} }
	}
	return d
}

func TestAnExportHasAllOfAPerson(t *testing.T) {
	d := knownOfAda(t)
	got, err := d.ExportPerson(t.Context(), ada)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Messages) != 2 {
		t.Fatalf("messages: got %+v, want one of each run", got.Messages)
	}
	m := got.Messages[1]
	if m.Run != "spring-1" || m.Row != 1 || m.Status != campaign.Accepted || m.MessageID != "wamid.conn_1" || m.AcceptedAt.IsZero() {
		t.Errorf("the older message: got %+v, want that of spring-1 with its id and time", m)
	}
	want := []resource.Cell{{Column: "phone", Value: ada}, {Column: "name", Value: "Ada of conn_1"}, {Column: "order", Value: "17"},
		{Value: "beyond"}}
	if diff := cmp.Diff(want, m.List); diff != "" {
		t.Errorf("its list (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&resource.ExportedContent{Body: []string{"Ada of conn_1, hello"}, Buttons: []string{"o/17"}}, m.Content); diff != "" {
		t.Errorf("its content (-want +got):\n%s", diff)
	}
	if s := got.Suppressions; len(s) != 1 || s[0].Source != "stop" || s[0].Proof.Text != "STOP" || s[0].Proof.Message != "wamid.in" {
		t.Errorf("suppressions: got %+v, want the stop with its proof", s)
	}
	for _, kind := range []string{"counted_order spring-1 1", "counted_order spring-2 1", "order  0", "outcome spring-1 1", "user_id  0"} {
		if !slices.Contains(kinds(got.Records), kind) {
			t.Errorf("records: got %q, want %q among them", kinds(got.Records), kind)
		}
	}
	if len(got.NotReached) != 0 || got.Company != "" || got.To != ada {
		t.Errorf("got %+v of %s for %q, want nothing that was not reached, for all companies", got.NotReached, got.To, got.Company)
	}
	none, err := d.ExportPerson(t.Context(), "+2348031234511")
	if err != nil || len(none.Messages)+len(none.Records)+len(none.Suppressions) != 0 {
		t.Errorf("of an unknown number: got %+v (%v), want nothing", none, err)
	}
	if _, err := d.ExportPerson(t.Context(), "0803"); err == nil || !strings.Contains(err.Error(), "0803") {
		t.Errorf("of a number without its country: got %v, want that it is refused", err)
	}
	if _, err := d.Erase(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	after, err := d.ExportPerson(t.Context(), ada)
	if err != nil || len(after.Messages)+len(after.Records) != 0 || len(after.Suppressions) != 1 ||
		after.Suppressions[0].Source != campaign.SourceErasure {
		t.Errorf("after an erasure: got %+v (%v), want the erasure alone", after, err)
	}
}

func TestAnExportIsOfTheCompanyOfItsKey(t *testing.T) {
	d := knownOfAda(t)
	d.Company = "co of conn_2"
	got, err := d.ExportPerson(t.Context(), ada)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Messages) != 1 || got.Messages[0].Run != "spring-2" || got.Company != d.Company || strings.Contains(string(text), "conn_1") ||
		strings.Contains(string(text), "US.1") || strings.Contains(string(text), "STOP") || !strings.Contains(string(text), "order of conn_2") {
		t.Errorf("got %s, want what belongs to spring-2 alone", text)
	}
}

// A list with one number in more rows than a page of the number's rows has.
func TestAnExportHasEachRowOfANumber(t *testing.T) {
	d, _ := session(t)
	runOf(t, d.Ledger, "conn_1", slices.Repeat([]int64{adasKey}, 150)...)
	runOf(t, d.Ledger, "conn_2", slices.Repeat([]int64{2348031234599, adasKey}, 3)...)
	for _, when := range []string{"before its numbers are kept", "with them"} {
		got, err := d.ExportPerson(t.Context(), ada)
		rows := map[string]int{}
		for _, m := range got.Messages {
			rows[m.Run]++
		}
		if err != nil || rows["spring-1"] != 150 || rows["spring-2"] != 3 || len(rows) != 2 {
			t.Errorf("%s: got %v (%v), want 150 rows and 3", when, rows, err)
		}
		for range 2 {
			if _, err := d.Ledger.KeepNumbers(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// kept are lists of audiences that nobody deletes.
type kept int64

func (k kept) Sweep(context.Context) (int64, error) { panic("an export deletes no list") }
func (k kept) Kept() (int64, error)                 { return int64(k), nil }

func TestAnExportSaysWhichListsItDidNotRead(t *testing.T) {
	d := knownOfAda(t)
	if err := os.WriteFile(filepath.Join(d.UploadsIn, "staged-0123"), []byte(ada), 0o600); err != nil {
		t.Fatal(err)
	}
	for lists, want := range map[kept]string{0: "1 list is uploaded", 2: "3 lists are uploaded"} {
		d.Lists = lists
		got, err := d.ExportPerson(t.Context(), ada)
		if err != nil || len(got.NotReached) != 1 || !strings.HasPrefix(got.NotReached[0], want) {
			t.Errorf("with %d lists of audiences: got %q (%v), want that %s", lists, got.NotReached, err, want)
		}
	}
}
