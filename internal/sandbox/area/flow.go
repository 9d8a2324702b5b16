package area

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// maxFlows is the number of flows of a client.
const maxFlows = 1000

// flowCategories are the platform's eight.
var flowCategories = []string{
	"SIGN_UP", "SIGN_IN", "APPOINTMENT_BOOKING", "LEAD_GENERATION", "CONTACT_US", "CUSTOMER_SUPPORT", "SURVEY", "OTHER",
}

// Flow is a multi-screen form.
type Flow struct {
	ID   string `yaml:"id" json:"id"`
	Name string `yaml:"name" json:"name"`
	// Status is DRAFT or PUBLISHED. Default PUBLISHED in a scenario.
	Status           string   `yaml:"status" json:"status"`
	Categories       []string `yaml:"categories" json:"categories"`
	ValidationErrors []string `yaml:"-" json:"validationErrors"`
	// Company is the id of the company. Default co_1.
	Company string `yaml:"company" json:"-"`

	screens bool // it has a json without errors
}

// flows are the flows of all clients.
type flows struct {
	all  []*Flow
	byID map[string]*Flow
	of   map[string]int // number of flows, by company
}

// fillFlows makes the flows of the scenario.
func (a *Areas) fillFlows() {
	a.flows.byID, a.flows.of = map[string]*Flow{}, map[string]int{}
	for _, f := range a.Flows {
		f.Company = cmp.Or(f.Company, "co_1")
		f.Status = cmp.Or(f.Status, "PUBLISHED")
		if len(f.Categories) == 0 {
			f.Categories = []string{"OTHER"}
		}
		f.screens, f.ValidationErrors = true, []string{}
		a.keepFlow(&f)
	}
}

func (a *Areas) keepFlow(f *Flow) {
	a.flows.all = append(a.flows.all, f)
	a.flows.byID[f.ID] = f
	a.flows.of[f.Company]++
}

func (a *Areas) flowHandlers() map[string]Handler {
	return map[string]Handler{
		"flows":        lists(&a.flows.all, func(f *Flow) string { return f.Company }, (*Flow).copied),
		"flow":         shows(a.ownFlow, (*Flow).copied),
		"flow_create":  take(a.createFlow),
		"flow_update":  take(a.updateFlow),
		"flow_preview": a.previewFlow,
		"flow_publish": a.publishFlow,
	}
}

// FlowRefusal is the platform's refusal of a send of a flow, or nil. A flow is the client's own,
// and published unless the mode is draft (docs/service.md#assumed-operations).
func (a *Areas) FlowRefusal(id, company, mode string) *Refusal {
	f := a.flows.byID[id]
	switch {
	case f == nil || f.Company != company:
		return RefusePlatform(131009, "flow_id: no such flow")
	case f.Status != "PUBLISHED" && mode != "draft":
		return RefusePlatform(131009, "flow_id: the flow is not published")
	}
	return nil
}

func (a *Areas) ownFlow(c *Call) (*Flow, *Refusal) {
	f := a.flows.byID[c.ID]
	if f == nil || !c.Key.Covers(f.Company) {
		return nil, notFound("flow")
	}
	return f, nil
}

// changeable returns the flow of a request that changes a draft.
func (a *Areas) changeable(c *Call) (*Flow, *Refusal) {
	f, ref := a.ownFlow(c)
	if ref == nil {
		ref = a.writable(f.Company)
	}
	if ref == nil && f.Status == "PUBLISHED" {
		ref = conflict("flow_published", "A published flow cannot be changed.")
	}
	return f, ref
}

// copied is a copy, because the answer is written when the lock is given back.
func (f *Flow) copied() Flow { return *f }

// flowBody is the body of flow_create and flow_update.
type flowBody struct {
	Name       *string         `json:"name"`
	Categories []string        `json:"categories"`
	JSON       json.RawMessage `json:"json"`
}

// onto sets the members of a flow that the body has.
func (in flowBody) onto(f *Flow) *Refusal {
	if in.Name != nil {
		if f.Name = *in.Name; f.Name == "" {
			return invalid("name is empty.")
		}
	}
	if in.Categories != nil {
		if f.Categories = in.Categories; len(f.Categories) == 0 {
			return invalid("categories is empty.")
		}
	}
	for _, category := range f.Categories {
		if !slices.Contains(flowCategories, category) {
			return invalid(fmt.Sprintf("categories: %q is not one of %q.", category, flowCategories))
		}
	}
	if len(in.JSON) > 0 && !bytes.Equal(in.JSON, []byte("null")) {
		f.ValidationErrors = flowErrors(in.JSON)
		f.screens = len(f.ValidationErrors) == 0
	}
	return nil
}

// flowErrors says what is wrong with the screens. They are an object, or a text that contains it.
func flowErrors(raw json.RawMessage) []string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	var in struct {
		Version string `json:"version"`
		Screens []struct {
			ID string `json:"id"`
		} `json:"screens"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return []string{"json is not a JSON object with a version and screens"}
	}
	found := []string{}
	if in.Version == "" {
		found = append(found, "version is missing")
	}
	if len(in.Screens) == 0 {
		found = append(found, "screens are missing")
	}
	seen := map[string]bool{}
	for i, s := range in.Screens {
		switch {
		case s.ID == "":
			found = append(found, fmt.Sprintf("screens[%d]: id is missing", i))
		case seen[s.ID]:
			found = append(found, fmt.Sprintf("screens[%d]: id %q is used twice", i, s.ID))
		}
		seen[s.ID] = true
	}
	return found
}

func (a *Areas) createFlow(c *Call, in flowBody) (any, *Refusal) {
	company := c.Connection.Company
	if in.Name == nil || in.Categories == nil {
		return nil, missing("name and categories are required.")
	}
	f := &Flow{Status: "DRAFT", Company: company, ValidationErrors: []string{}}
	if ref := in.onto(f); ref != nil {
		return nil, ref
	}
	if a.flows.of[company] >= maxFlows {
		return nil, overLimit("The client has 1,000 flows, the most allowed.")
	}
	f.ID = a.serial("flow", func(id string) bool { return a.flows.byID[id] != nil })
	a.keepFlow(f)
	return *f, nil
}

func (a *Areas) updateFlow(c *Call, in flowBody) (any, *Refusal) {
	f, ref := a.changeable(c)
	if ref != nil {
		return nil, ref
	}
	next := *f
	if ref := in.onto(&next); ref != nil {
		return nil, ref
	}
	*f = next
	return next, nil
}

func (a *Areas) previewFlow(c *Call) (any, *Refusal) {
	f, ref := a.ownFlow(c)
	if ref != nil {
		return nil, ref
	}
	return struct {
		URL       string    `json:"url"`
		ExpiresAt time.Time `json:"expiresAt"`
	}{"https://flows.example/preview/" + f.ID, c.Now.Add(30 * 24 * time.Hour).UTC().Truncate(time.Second)}, nil
}

func (a *Areas) publishFlow(c *Call) (any, *Refusal) {
	f, ref := a.changeable(c)
	switch {
	case ref != nil:
		return nil, ref
	case !f.screens:
		return nil, &Refusal{400, "flow_invalid", "The flow has no json without errors.", nil}
	}
	f.Status = "PUBLISHED"
	return *f, nil
}
