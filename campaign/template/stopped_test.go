package template

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"campaignd/campaign"
)

// runs are those of a ledger, and the filters with which they were asked for.
type runs struct {
	all   []campaign.Run
	asked []campaign.RunFilter
	err   error
}

func (r *runs) Runs(_ context.Context, f campaign.RunFilter) ([]campaign.Run, error) {
	r.asked = append(r.asked, f)
	return slices.Clone(r.all), r.err
}

func TestAnEditOfAnApprovedTemplateStopsItsRuns(t *testing.T) {
	a := &account{}
	offer := strings.Replace(good, "name: sale", "name: offer", 1)
	a.pushed(t, map[string]string{"sale.en_US.yaml": good, "offer.en_US.yaml": offer})
	all, err := ReadFolder(folder(t, map[string]string{"offer.en_US.yaml": offer,
		"sale.en_US.yaml": strings.Replace(good, "Bye", "Ciao", 1)}))
	if err != nil {
		t.Fatal(err)
	}
	run := func(name, language, connections string, change func(*campaign.Run)) campaign.Run {
		r := campaign.Run{No: 1, Campaign: name, Template: "sale", Language: language, Wanted: campaign.WantRun, State: campaign.Running,
			Definition: []byte("name: " + name + "\nconnections: [" + connections + "]\ntemplate: {name: sale, language: en_US}\n" +
				"recipients: {file: list.csv, columns: {to: phone}}\n")}
		if change != nil {
			change(&r)
		}
		return r
	}
	ledger := &runs{all: []campaign.Run{
		run("stopped", "en_US", "conn_2", nil),
		run("spelt", "en-US", "conn_1", nil),
		run("second", "en_US", "conn_9, conn_2", nil),
		run("paused", "en_US", "conn_1", func(r *campaign.Run) { r.Wanted = campaign.WantPause }),
		run("unreadable", "en_US", "conn_9", func(r *campaign.Run) { r.Definition = []byte("name: [") }),
		run("french", "fr", "conn_1", nil),
		run("unedited", "en_US", "conn_1", func(r *campaign.Run) { r.Template = "offer" }),
		run("elsewhere", "en_US", "conn_9", nil),
		run("cancelled", "en_US", "conn_1", func(r *campaign.Run) { r.Wanted = campaign.WantCancel }),
		run("ended", "en_US", "conn_1", func(r *campaign.Run) { r.State = campaign.Finished }),
	}}
	stopped := "stopped spelt second paused unreadable"
	for status, want := range map[string]string{"APPROVED": stopped, "REJECTED": "", "PAUSED": ""} {
		for i := range a.listed {
			a.listed[i].Status = status
		}
		compared, err := Compare(t.Context(), a, "conn_1", all)
		if err != nil {
			t.Fatal(err)
		}
		got, err := StoppedBy(t.Context(), ledger, []string{"conn_1", "conn_2"}, compared)
		var names []string
		for _, r := range got {
			names = append(names, r.Campaign)
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("%s: got %q and %v, want %q", status, names, err, want)
		}
	}
	for _, f := range ledger.asked {
		if f != (campaign.RunFilter{Unfinished: true}) {
			t.Errorf("got the runs of %+v, want the unfinished ones", f)
		}
	}
	ledger.err = errors.New("the ledger is away")
	if _, err := StoppedBy(t.Context(), ledger, nil, nil); !errors.Is(err, ledger.err) {
		t.Errorf("got %v, want the error of the ledger", err)
	}
}
