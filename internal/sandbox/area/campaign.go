package area

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Figures of the sandbox (docs/service.md#assumed-operations).
const (
	maxCampaigns     = 1000   // of a client
	maxRecipients    = 10_000 // of a campaign
	recipientsAtOnce = 1000   // in one request
)

// campaignTemplate is the template of a campaign.
type campaignTemplate struct {
	Name     string          `json:"name"`
	Language string          `json:"language"`
	Header   json.RawMessage `json:"header,omitempty"`
}

// Recipient is a recipient of a campaign, as the request has it.
type Recipient struct {
	To      string          `json:"to"`
	Body    []string        `json:"body,omitempty"`
	Buttons json.RawMessage `json:"buttons,omitempty"`
	OTP     string          `json:"otp,omitempty"`
}

// campaignRecipient is a recipient with what became of it.
type campaignRecipient struct {
	Recipient
	phone     uint64
	state     recipientState
	code      int // the platform's, of a refusal or a failure
	messageID string
	error     string // of a refusal
}

// campaign is a campaign of a client.
type campaign struct {
	id, name, company string
	connection        *Connection
	template          campaignTemplate
	status            string // draft, running, completed or cancelled
	recipients        []*campaignRecipient
	phones            map[uint64]bool
	next              int                  // index of the recipient to send to
	counts            [recipientStates]int // recipients by their state
}

// campaigns are the campaigns of all clients.
type campaigns struct {
	all  []*campaign
	byID map[string]*campaign
	of   map[string]int
}

func (a *Areas) campaignHandlers() map[string]Handler {
	return map[string]Handler{
		"campaigns":           lists(&a.campaigns.all, func(k *campaign) string { return k.company }, (*campaign).view),
		"campaign":            shows(a.ownCampaign, (*campaign).view),
		"campaign_create":     take(a.createCampaign),
		"campaign_add":        take(a.addRecipients),
		"campaign_launch":     a.launchCampaign,
		"campaign_cancel":     a.cancelCampaign,
		"campaign_recipients": a.listRecipients,
	}
}

// campaignView is K of the table.
type campaignView struct {
	ID           string           `json:"id"`
	ConnectionID string           `json:"connectionId"`
	Name         string           `json:"name"`
	Template     campaignTemplate `json:"template"`
	Status       string           `json:"status"`
	Recipients   int              `json:"recipients"`
	Counts       map[string]int   `json:"counts"`
}

func (k *campaign) view() campaignView {
	counts := map[string]int{}
	for state, n := range k.counts {
		counts[recipientState(state).String()] = n
	}
	return campaignView{k.id, k.connection.ID, k.name, k.template, k.status, len(k.recipients), counts}
}

func (a *Areas) ownCampaign(c *Call) (*campaign, *Refusal) {
	k := a.campaigns.byID[c.ID]
	if k == nil || !c.Key.Covers(k.company) {
		return nil, notFound("campaign")
	}
	return k, nil
}

// inState returns the campaign of a request that changes it, which must be in one of the states.
func (a *Areas) inState(c *Call, states ...string) (*campaign, *Refusal) {
	k, ref := a.ownCampaign(c)
	if ref == nil {
		ref = a.writable(k.company)
	}
	if ref == nil && !slices.Contains(states, k.status) {
		ref = conflict("campaign_not_draft", "The campaign is "+k.status+".")
	}
	return k, ref
}

// newCampaign is the body of campaign_create.
type newCampaign struct {
	Name       string            `json:"name"`
	Template   *campaignTemplate `json:"template"`
	Recipients []Recipient       `json:"recipients"`
}

func (a *Areas) createCampaign(c *Call, in newCampaign) (any, *Refusal) {
	switch {
	case in.Name == "" || in.Template == nil || in.Template.Name == "" || in.Template.Language == "":
		return nil, missing("name and template with name and language are required.")
	case len(in.Recipients) > recipientsAtOnce:
		return nil, invalid("recipients: more than 1,000 in one request.")
	case a.campaigns.of[c.Connection.Company] >= maxCampaigns:
		return nil, overLimit("The client has 1,000 campaigns, the most allowed.")
	}
	k := &campaign{name: in.Name, company: c.Connection.Company, connection: c.Connection, template: *in.Template,
		status: "draft", phones: map[uint64]bool{}}
	fresh, out := a.sift(k, in.Recipients)
	if len(out.Invalid) > 0 { // K has no member that could tell of them
		wrong := out.Invalid[0]
		return nil, &Refusal{400, wrong.Error, fmt.Sprintf("recipients[%d]: to is not a phone number; nothing was created.", wrong.Index), nil}
	}
	k.add(fresh)
	k.id = a.serial("cmp", func(id string) bool { return a.campaigns.byID[id] != nil })
	a.campaigns.all = append(a.campaigns.all, k)
	a.campaigns.byID[k.id] = k
	a.campaigns.of[k.company]++
	return k.view(), nil
}

// added is the answer to campaign_add. It has no phone number.
type added struct {
	Added      int         `json:"added"`
	Duplicates int         `json:"duplicates"`
	Invalid    []wrongItem `json:"invalid"`
}

type wrongItem struct {
	Index int    `json:"index"`
	Error string `json:"error"`
}

// sift returns the recipients that a campaign does not have yet, by their phone numbers, and what
// becomes of all of the request.
func (a *Areas) sift(k *campaign, recipients []Recipient) (fresh []*campaignRecipient, out added) {
	out.Invalid = []wrongItem{}
	seen := map[uint64]bool{}
	for i, r := range recipients {
		phone := a.ReadPhone(r.To)
		switch {
		case r.To == "":
			out.Invalid = append(out.Invalid, wrongItem{i, "missing_fields"})
		case phone == 0:
			out.Invalid = append(out.Invalid, wrongItem{i, "invalid_field"})
		case seen[phone] || k.phones[phone]:
			out.Duplicates++
		default:
			seen[phone] = true
			fresh = append(fresh, &campaignRecipient{Recipient: r, phone: phone})
			out.Added++
		}
	}
	return fresh, out
}

func (k *campaign) add(fresh []*campaignRecipient) {
	for _, r := range fresh {
		k.phones[r.phone] = true
	}
	k.recipients = append(k.recipients, fresh...)
	k.counts[pending] += len(fresh)
}

func (a *Areas) addRecipients(c *Call, in struct {
	Recipients []Recipient `json:"recipients"`
}) (any, *Refusal) {
	k, ref := a.inState(c, "draft")
	switch {
	case ref != nil:
		return nil, ref
	case len(in.Recipients) == 0:
		return nil, missing("recipients is required.")
	case len(in.Recipients) > recipientsAtOnce:
		return nil, invalid("recipients: more than 1,000 in one request.")
	}
	fresh, out := a.sift(k, in.Recipients)
	if len(k.recipients)+len(fresh) > maxRecipients {
		return nil, overLimit("A campaign has at most 10,000 recipients; none of these was added.")
	}
	k.add(fresh)
	return out, nil
}

func (a *Areas) launchCampaign(c *Call) (any, *Refusal) {
	k, ref := a.inState(c, "draft")
	if ref != nil {
		return nil, ref
	}
	if len(k.recipients) == 0 {
		return nil, missing("recipients are required before a launch.")
	}
	t := a.Template(k.template.Name, k.template.Language, k.company)
	if t == nil {
		ref = RefusePlatform(132001, k.template.Name+" in "+k.template.Language)
		return nil, ref
	}
	if ref := t.Refusal(); ref != nil {
		return nil, ref
	}
	k.status = "running"
	a.planSend(k, c.Now)
	return k.view(), nil
}

func (a *Areas) cancelCampaign(c *Call) (any, *Refusal) {
	k, ref := a.inState(c, "draft", "running")
	if ref != nil {
		return nil, ref
	}
	k.status = "cancelled"
	return k.view(), nil
}

// listRecipients lists the recipients, or with ?status= the recipients of that status.
func (a *Areas) listRecipients(c *Call) (any, *Refusal) {
	k, ref := a.ownCampaign(c)
	if ref != nil {
		return nil, ref
	}
	want := c.Query.Get("status")
	if want != "" && !slices.Contains(stateNames[:], want) {
		return nil, invalid(fmt.Sprintf("status is not one of %q.", stateNames))
	}
	type row struct {
		To        string `json:"to"`
		Status    string `json:"status"`
		MessageID string `json:"messageId,omitempty"`
		Error     string `json:"error,omitempty"`
		Code      int    `json:"code,omitempty"`
	}
	rows := []row{}
	for _, r := range k.recipients {
		if state := r.state.String(); want == "" || state == want {
			rows = append(rows, row{r.To, state, r.messageID, r.error, r.code})
		}
	}
	return list(rows), nil
}
