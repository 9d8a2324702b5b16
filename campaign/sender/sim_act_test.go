package sender_test

import (
	"context"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/sandbox"
	"campaignd/recipients"
)

// people do what the workload says until ctx ends.
func (w *world) people(ctx context.Context) {
	for _, a := range w.load.acts {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(w.started.Add(a.at))):
		}
		if err := w.do(ctx, a); err != nil {
			w.bad("%s: %v", a.what, err)
		}
	}
}

func (w *world) do(ctx context.Context, a act) error {
	r := w.load.runs[a.run]
	w.count("people: " + a.what)
	w.note("people: "+a.what+" "+a.to, nil)
	switch a.what {
	case "pause", "cancel":
		want := campaign.WantPause
		if a.what == "cancel" || w.seen.isCancelled(w, r) {
			want = campaign.WantCancel
		}
		if _, err := w.desk.SetWanted(ctx, r.no, want, ""); err != nil {
			return err
		}
		w.seen.stop(w, r, want == campaign.WantCancel)
		return nil
	case "resume":
		return w.resume(ctx, r)
	case "template paused", "template approved":
		if a.what == "template approved" {
			w.seen.approve(w, r)
		} else {
			w.seen.disapprove(w, r)
		}
		return w.service.SetTemplate(r.template, "en_US", strings.TrimPrefix(a.what, "template "))
	case "STOP":
		_, err := w.service.Receive(sandbox.Inbound{Connection: w.load.connections[0].ID, From: a.to, Text: "STOP"})
		return err
	case "suppress":
		if _, err := w.desk.Suppress(ctx,
			[]campaign.Suppression{{Key: recipients.Key(a.to), To: a.to, Scope: campaign.ScopeAll, Source: "operator",
				At: time.Now()}}); err != nil {
			return err
		}
		w.seen.suppress(w, a.to)
	}
	return nil
}

// resume makes a run that is not cancelled go on.
func (w *world) resume(ctx context.Context, r *campaignRun) error {
	if !w.seen.resume(w, r) { // before it is written: from here on intents are right
		return nil
	}
	_, err := w.desk.SetWanted(ctx, r.no, campaign.WantRun, "")
	return err
}
