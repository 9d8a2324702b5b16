package sandbox

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

const wireDir = "../../testdata/wire"

// world is testdata/wire/world.json.
type world struct {
	Key           string `json:"key"`
	WebhookSecret string `json:"webhook_secret"`
	Connections   []struct {
		ID          string `json:"id"`
		PhoneNumber string `json:"phoneNumber"`
		DisplayName string `json:"displayName"`
		CompanyID   string `json:"companyId"`
		Status      string `json:"status"`
	} `json:"connections"`
	Spent     []string `json:"spent"`
	Suspended []string `json:"suspended"`
	// Unverified connections are of a client without the operator's verification.
	Unverified []string `json:"unverified"`
	Numbers    []struct {
		ConnectionID       string `json:"connectionId"`
		QualityRating      string `json:"qualityRating"`
		MessagingLimitTier string `json:"messagingLimitTier"`
		Throughput         struct {
			Level string `json:"level"`
		} `json:"throughput"`
		Coexistence bool `json:"coexistence"`
	} `json:"numbers"`
	Templates     []Template `json:"templates"`
	Flows         []Flow     `json:"flows"`
	Assets        []string   `json:"assets"`
	ExpiredAssets []string   `json:"expired_assets"`
	OptedOut      []string   `json:"opted_out"`
	Unreachable   []string   `json:"unreachable"`
	WindowOpen    []string   `json:"window_open"`
}

func wireWorld(t *testing.T) Options {
	t.Helper()
	var w world
	readJSON(t, filepath.Join(wireDir, "world.json"), &w)
	has := func(list []string, id string) bool {
		for _, v := range list {
			if v == id {
				return true
			}
		}
		return false
	}
	o := Options{Keys: []Key{{Token: w.Key}}, WebhookSecret: w.WebhookSecret, Templates: w.Templates, Flows: w.Flows,
		OptedOut: w.OptedOut, WindowOpen: w.WindowOpen}
	for _, c := range w.Connections {
		conn := Connection{ID: c.ID, Phone: c.PhoneNumber, DisplayName: c.DisplayName, Company: c.CompanyID, Status: c.Status}
		for _, n := range w.Numbers {
			if n.ConnectionID == c.ID {
				conn.Quality, conn.Tier, conn.Throughput, conn.Coexistence = n.QualityRating, n.MessagingLimitTier, n.Throughput.Level, n.Coexistence
			}
		}
		o.Connections = append(o.Connections, conn)
		switch {
		case has(w.Spent, c.ID):
			o.Companies = append(o.Companies, Company{ID: c.CompanyID, Allowance: 1000, Used: 1000})
		case has(w.Suspended, c.ID):
			o.Companies = append(o.Companies, Company{ID: c.CompanyID, Suspended: true})
		}
	}
	for i, c := range o.Companies {
		for _, conn := range o.Connections {
			if conn.Company == c.ID && has(w.Unverified, conn.ID) {
				o.Companies[i].Verified = new(bool)
			}
		}
	}
	for _, id := range w.Assets {
		o.Assets = append(o.Assets, Asset{ID: id})
	}
	for _, id := range w.ExpiredAssets {
		o.Assets = append(o.Assets, Asset{ID: id, Age: 31 * 24 * time.Hour})
	}
	for _, n := range w.Unreachable {
		o.Statuses.Recipients = append(o.Statuses.Recipients, Recipient{Phone: n, Fate: FateUnreachable})
	}
	return o
}

// blockMany blocks 64,000 users, 1,000 with each request.
func blockMany(t *testing.T, s *Sandbox, headers map[string]string) {
	t.Helper()
	for from := 0; from < 64_000; from += 1000 {
		users := make([]string, 1000)
		for i := range users {
			users[i] = fmt.Sprintf("+1415%07d", from+i)
		}
		raw, err := json.Marshal(map[string]any{"connectionId": "conn_1", "users": users})
		must(t, err)
		if got := ask(t, s, "", wireRequest{Method: "POST", Path: "/api/v1/blocked-users", Headers: headers, Body: raw}); got.Code != 200 {
			t.Fatalf("a block of 1,000 users before: %d %s, want 200", got.Code, got.Body)
		}
	}
}

// wireFault sets the options that make a case of cause fault happen, and returns the number of
// requests that come before. ok is false if the sandbox has no such fault.
func wireFault(name string, o *Options) (before int, ok bool) {
	certain := 1.0
	switch name {
	case "06_block_limit":
		for n := range 64_001 {
			o.WindowOpen = append(o.WindowOpen, fmt.Sprintf("+1415%07d", n))
		}
	case "06_plan_limit":
		o.Storage = 4
	case "15_window_unverified":
		o.Faults.Unverified = certain
	case "31_send_needs_template":
		o.Statuses.OutsideWindow = "refused"
	case "33_send_retryable_throughput":
		o.EnforceThroughput = true
		o.Connections[0].Rate = 1
		return 1, true
	case "34_send_retryable_pair":
		o.PairRate = 6 * time.Second
		return 1, true
	case "35_send_retryable_generic":
		o.Faults.Refusals = []Refusal{{Code: 131000, Share: certain}}
	case "36_send_media":
		o.Faults.Refusals = []Refusal{{Code: 131053, Share: certain}}
	case "38_send_unknown_class":
		o.Faults.Refusals = []Refusal{{Code: 199999, Share: certain}}
	case "50_rate_limited_retry_after":
		o.EnforceThroughput, o.Throttle, o.ThrottleWait = true, ThrottleRetryAfter, 7*time.Second
		o.Connections[0].Rate = 1
		return 1, true
	case "51_rate_limited_bare":
		o.EnforceThroughput, o.Throttle = true, ThrottleHTTP
		o.Connections[0].Rate = 1
		return 1, true
	case "60_internal_500", "61_bad_gateway_html", "62_unavailable_refusal_body",
		"63_request_timeout_408", "64_conflict_409", "65_client_closed_499":
		o.Faults.ServerError = certain
		code := map[string]int{"60": 500, "61": 502, "62": 503, "63": 408, "64": 409, "65": 499}[name[:2]]
		o.Faults.Codes = []int{code}
	case "49_firewall_403":
		o.Faults.Pages = []Page{{Status: 403, Share: certain}}
	case "74_ok_page":
		o.Faults.Pages = []Page{{Status: 200, Share: certain, Accepted: true}}
	case "70_ok_without_id":
		o.Faults.NoID = certain
	case "71_ok_empty":
		o.Faults.EmptyBody = certain
	case "72_ok_cut":
		o.Faults.CutBody = certain
	case "73_ok_long_id":
		o.Faults.LongID = certain
	case "47_http_301", "02_absent", "37_send_parameter":
	default:
		return 0, false
	}
	return 0, true
}
