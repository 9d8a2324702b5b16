package notify

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
)

// Message is the body of a notification (docs/operations.md#notifications).
type Message struct {
	Type      campaign.NotificationKind `json:"type"`
	Timestamp time.Time                 `json:"timestamp"` // of the event, not of the try
	Data      Data                      `json:"data"`
}

// Data is what a notification tells. A field that its kind does not have is left out.
type Data struct {
	Text     string           `json:"text"` // one sentence
	Run      string           `json:"run,omitempty"`
	Campaign string           `json:"campaign,omitempty"`
	Subject  string           `json:"subject,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Detail   string           `json:"detail,omitempty"`
	Totals   map[string]int64 `json:"totals,omitempty"` // rows by status
}

// body writes a notification in a format.
func body(format string, n campaign.Notification, totals map[string]int64) (string, error) {
	f := Data{Campaign: n.Campaign, Subject: n.Subject, Reason: n.Reason, Detail: n.Detail, Totals: totals}
	if n.Run != 0 {
		f.Run = campaign.Run{No: n.Run, Campaign: n.Campaign}.ID()
	}
	f.Text = textOf(n, f)
	var v any = Message{Type: n.Kind, Timestamp: n.At, Data: f}
	if format == Slack {
		// Slack reads &, < and > as control characters
		// (https://docs.slack.dev/messaging/formatting-message-text).
		v = map[string]string{"text": strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(f.Text)}
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// textOf returns the text of a notification for people.
func textOf(n campaign.Notification, f Data) string {
	because := ""
	if n.Detail != "" {
		because = ": " + n.Detail
	}
	switch n.Kind {
	case campaign.NotifyRunStarted:
		return f.Run + " has started"
	case campaign.NotifyRunPaused:
		return fmt.Sprintf("%s is paused (%s)%s", f.Run, n.Reason, because)
	case campaign.NotifyRunFinished:
		return fmt.Sprintf("%s has ended: %s%s%s", f.Run, n.Reason, because, counted(f.Totals))
	case campaign.NotifyRunSettled:
		silent := ""
		if n := f.Totals[string(campaign.Accepted)]; n > 0 {
			silent = fmt.Sprintf("; no event has come about the %d accepted ones, so nobody knows whether they were delivered", n)
		}
		return fmt.Sprintf("%s is settled%s%s", f.Run, counted(f.Totals), silent)
	case campaign.NotifyRunRepeats:
		return fmt.Sprintf("%s sends a template to people who got it before%s", f.Run, because)
	case campaign.NotifyApproval:
		return fmt.Sprintf("%s waits for approval: `campaignd approve %[1]s`", f.Run)
	case campaign.NotifyHold, campaign.NotifyHoldEnded:
		return n.Detail
	case campaign.NotifyBreaker:
		return "a breaker tripped: " + n.Detail
	case campaign.NotifyDropRejected:
		return fmt.Sprintf("the file %s was rejected%s", n.Subject, because)
	case campaign.NotifyScheduleMissed:
		return fmt.Sprintf("a firing of %s was not launched (%s)%s", n.Campaign, n.Reason, because)
	}
	return string(n.Kind) + because
}

// counted lists totals in the order of their names.
func counted(totals map[string]int64) string {
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(totals)) {
		parts = append(parts, fmt.Sprintf("%d %s", totals[status], strings.ReplaceAll(status, "_", " ")))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
