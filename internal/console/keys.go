package console

import (
	"net/http"
	"net/url"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
)

// keysView lists the keys and who is signed in. New has the secret of a key that was just made; no
// other page shows it.
type keysView struct {
	Keys     []resource.Key
	Browsers []resource.Browser
	New      *resource.NewKey
	Nonce    string // of the form, so that a reload makes no second key
}

func keys(v *visit) (any, error) { return v.keysView(nil) }

func (v *visit) keysView(made *resource.NewKey) (keysView, error) {
	out := keysView{New: made, Nonce: time.Now().UTC().Format(time.RFC3339Nano)}
	var err error
	if out.Keys, err = v.d.Keys(v.r.Context()); err != nil {
		return out, err
	}
	out.Browsers, err = v.d.Browsers(v.r.Context())
	return out, err
}

func createKey(v *visit) (done, error) {
	form := v.form
	k, err := v.d.CreateKey(v.r.Context(), form.Get("name"), form.Get("scope"), form.Get("company"), form.Get("nonce"))
	if err != nil {
		return done{}, err
	}
	view, err := v.keysView(&k)
	return done{view: view}, err
}

func askRevoke(v *visit) question {
	return question{Asked: "Revoke the key " + clip(v.form.Get("key")) + "?",
		What: "It is refused from its next request on, and who signed in with it is signed out. This cannot be undone.", Yes: "Revoke the key",
		Back: "/console/keys"}
}

func revokeKey(v *visit) (done, error) {
	k, err := v.d.RevokeKey(v.r.Context(), v.form.Get("key"))
	return done{to: "/console/keys", said: "The key " + k.ID + " (" + k.Name + ") was revoked."}, err
}

type logView struct {
	Actions []resource.Action
	Next    string
}

func actions(v *visit) (any, error) {
	q := v.r.URL.Query()
	f := campaign.ActionFilter{BeforeID: q.Get("before_id"), Limit: mostRows}
	if s := q.Get("before"); s != "" {
		var err error
		if f.Before, err = time.Parse(time.RFC3339Nano, s); err != nil {
			return nil, &problem{http.StatusBadRequest, "The address of this page is damaged: its position is no time."}
		}
	}
	all, err := v.d.Actions(v.r.Context(), f)
	out := logView{Actions: all}
	if len(all) == mostRows {
		last := all[len(all)-1]
		out.Next = "/console/log?" + url.Values{"before": {last.At.Format(time.RFC3339Nano)}, "before_id": {last.ID}}.Encode()
	}
	return out, err
}
