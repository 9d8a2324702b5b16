package commerce

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"campaignd/internal/secret"
)

// Event is an event of the platform (docs/commerce.md#events). Data is the record that it is about.
type Event struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	CreatedAt Time            `json:"created_at"`
	CompanyID string          `json:"company_id"`
	Data      json.RawMessage `json:"data"`
}

// Intake is the handler of the platform's events: it answers 401 to an event without a right
// signature, and 204 to all others, once the order that the event names is stored. It is safe for
// concurrent use.
type Intake struct {
	group   group
	header  string
	company string
	log     *slog.Logger
	secrets atomic.Pointer[[]secret.Value]
	counts  [len(resultNames)]atomic.Int64
	told    [len(resultNames)]atomic.Int64 // when the log told a result last, in seconds since 1970
}

// The results of a request to an Intake, as indexes of its counts.
const (
	taken = iota
	unsigned
	invalid
	foreign
	unstored
)

var resultNames = [...]string{taken: "taken", unsigned: "unsigned", invalid: "invalid", foreign: "other_company", unstored: "unstored"}

// refusals are what the log says of events that were refused, by their result. A ledger that takes
// no writes has a line of its own.
var refusals = [len(resultNames)]string{
	unsigned: "an event of the commerce platform was refused: no secret of commerce.webhooks.secrets made its signature; " +
		"compare them with the platform's, or a stranger posts there",
	invalid: "an event of the commerce platform was refused: it is not in the documented form, or too long; " +
		"compare it with docs/commerce.md#events",
	foreign: "an event of the commerce platform was refused: it is for another company than commerce.company; " +
		"take this address out of the webhooks of that company",
}

// tellEvery is the least time between two lines of the log about refusals of one kind: anybody can
// send what is refused.
const tellEvery = time.Hour

// maxEvent is the longest body of an event in bytes, and minSecret the shortest signing secret that
// a configuration may have: 128 bits, if it was drawn (RFC 2104, section 3).
const (
	maxEvent = 1 << 20
	// MinSecret is the length in bytes below which a signing secret can be guessed.
	MinSecret = 16
)

// NewIntake returns an Intake for the events of a company. store keeps hints durably; requests wait
// for it.
func NewIntake(a Assumed, company string, secrets []secret.Value, log *slog.Logger, store func(context.Context, []Hint) error) *Intake {
	i := &Intake{group: group{store: store}, header: a.WithDefaults().SignatureHeader, company: company, log: log}
	i.Renew(secrets)
	return i
}

// Renew replaces the secrets.
func (i *Intake) Renew(secrets []secret.Value) { i.secrets.Store(&secrets) }

// Counts returns how many requests had each result: taken, unsigned, invalid, other_company and
// unstored.
func (i *Intake) Counts() map[string]int64 {
	all := make(map[string]int64, len(resultNames))
	for at, name := range resultNames {
		all[name] = i.counts[at].Load()
	}
	return all
}

// ServeHTTP implements http.Handler.
func (i *Intake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "events are posted", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	if err != nil {
		i.refuse(w, invalid, http.StatusRequestEntityTooLarge)
		return
	}
	if !Signed(r.Header.Values(i.header), body, *i.secrets.Load()) {
		i.refuse(w, unsigned, http.StatusUnauthorized)
		return
	}
	var e Event
	switch {
	case json.Unmarshal(body, &e) != nil || e.ID == "" || e.Type == "":
		i.refuse(w, invalid, http.StatusBadRequest)
		return
	case e.CompanyID != i.company:
		i.refuse(w, foreign, http.StatusForbidden)
		return
	}
	if hint, ok := e.Hint(); ok {
		if err := i.group.add(r.Context(), hint); err != nil {
			i.refuse(w, unstored, http.StatusServiceUnavailable)
			return
		}
	}
	i.counts[taken].Add(1)
	i.log.Debug("an event of the commerce platform was taken")
	w.WriteHeader(http.StatusNoContent)
}

// refuse answers without a detail, which would help a forger. The log has it.
func (i *Intake) refuse(w http.ResponseWriter, result, status int) {
	n, now, last := i.counts[result].Add(1), time.Now(), i.told[result].Load()
	if text := refusals[result]; text != "" && now.Sub(time.Unix(last, 0)) >= tellEvery && i.told[result].CompareAndSwap(last, now.Unix()) {
		i.log.Warn(text, "refused", n)
	}
	http.Error(w, http.StatusText(status), status)
}

// maxSignatures is the number of signatures that are compared for one event.
const maxSignatures = 8

// Signed reports whether one of the secrets made one of the signatures: hex of HMAC-SHA256 over the
// body (docs/commerce.md#events). Each comparison takes the same time.
func Signed(signatures []string, body []byte, secrets []secret.Value) (ok bool) {
	if len(signatures) > maxSignatures {
		signatures = signatures[:maxSignatures]
	}
	for _, s := range secrets {
		if s.IsZero() {
			continue // anybody can sign with an empty secret
		}
		want := hmacOf(s, body)
		for _, text := range signatures {
			got, err := hex.DecodeString(strings.TrimSpace(text))
			if err == nil && hmac.Equal(got, want) {
				ok = true
			}
		}
	}
	return ok
}

func hmacOf(s secret.Value, text []byte) []byte {
	mac := hmac.New(sha256.New, []byte(s.Reveal()))
	mac.Write(text)
	return mac.Sum(nil)
}
