package sandbox

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// SetTemplate changes the state of a template and posts template.status. An empty language means
// every language. The status is approved, paused, disabled, rejected or pending.
func (s *Sandbox) SetTemplate(name, language, status string) error {
	s.mu.Lock()
	pushed, err := s.setTemplate(name, language, status, time.Now())
	s.mu.Unlock()
	s.pushAll(pushed)
	return err
}

// setTemplate is SetTemplate for a caller that holds s.mu. It returns the extras to push.
func (s *Sandbox) setTemplate(name, language, status string, now time.Time) (pushed []int, _ error) {
	if !templateStatuses[status] || status == "" {
		return nil, fmt.Errorf("sandbox: template status %q is not approved, paused, disabled, rejected or pending", status)
	}
	event := strings.ToUpper(status)
	found := false
	for _, t := range s.templates {
		if t.Name != name || language != "" && t.Language != language {
			continue
		}
		found = true
		before := t.Status
		t.Status = event
		title := "NONE"
		switch {
		case event == "PAUSED":
			title = "FIRST_PAUSE"
		case event == "APPROVED" && before == "PAUSED":
			title = "UNPAUSE"
		}
		// Webhooks say en-US, sends say en_US (docs/service.md#template-events).
		hyphen := strings.ReplaceAll(t.Language, "_", "-")
		data := fmt.Appendf(nil, `{"name":%q,"language":%q,"event":%q,"category":%q,"reason":%q}`, t.Name, hyphen, event, t.Category, title)
		value := fmt.Appendf(nil, `{"event":%q,"message_template_id":%d,"message_template_name":%q,"message_template_language":%q,`+
			`"reason":"NONE","message_template_category":%q,"other_info":{"title":%q,"description":"Changed in the sandbox."}}`,
			event, 400_000_000_000_001+int64(t.number), t.Name, hyphen, t.Category, title)
		told := map[string]bool{}
		for _, c := range s.connections {
			if t.of(c.Company) && !told[c.Company] {
				told[c.Company] = true
				pushed = append(pushed, s.addExtra(&extra{
					typ: "template.status", company: c.Company, conn: c, at: now,
					data: data, field: "message_template_status_update", value: value,
				}))
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("sandbox: no template %q in language %q", name, language)
	}
	return pushed, nil
}

// SetCompany changes the status of a company to suspended or active, and posts account.updated.
func (s *Sandbox) SetCompany(id, status string) error {
	s.mu.Lock()
	pushed, err := s.setCompany(id, status, time.Now())
	s.mu.Unlock()
	s.pushAll(pushed)
	return err
}

func (s *Sandbox) setCompany(id, status string, now time.Time) (pushed []int, _ error) {
	c := s.company[id]
	if c == nil {
		return nil, fmt.Errorf("sandbox: no company %q", id)
	}
	event := "REINSTATE"
	switch status {
	case "suspended":
		event = "DISABLE"
	case "active":
	default:
		return nil, fmt.Errorf("sandbox: company status %q is not suspended or active", status)
	}
	c.Suspended = status == "suspended"
	data := fmt.Appendf(nil, `{"companyId":%q,"status":%q}`, id, status)
	value := fmt.Appendf(nil, `{"event":"DISABLED_UPDATE","ban_info":{"waba_ban_state":%q,"waba_ban_date":%q}}`,
		event, now.UTC().Format(time.DateOnly))
	return []int{s.addExtra(&extra{
		typ: "account.updated", company: id, conn: s.firstOf(c), at: now, data: data, field: "account_update", value: value,
	})}, nil
}

// SetQuality changes the quality rating of a connection's number to GREEN, YELLOW or RED, and posts
// number.updated.
func (s *Sandbox) SetQuality(connection, quality string) error {
	s.mu.Lock()
	pushed, err := s.setQuality(connection, quality, time.Now())
	s.mu.Unlock()
	s.pushAll(pushed)
	return err
}

func (s *Sandbox) setQuality(id, quality string, now time.Time) (pushed []int, _ error) {
	c := s.connection[id]
	if c == nil {
		return nil, fmt.Errorf("sandbox: no connection %q", id)
	}
	switch quality {
	case "GREEN", "YELLOW", "RED":
	default:
		return nil, fmt.Errorf("sandbox: quality %q is not GREEN, YELLOW or RED", quality)
	}
	c.Quality = quality
	data := fmt.Appendf(nil, `{"phoneNumber":%q,"qualityRating":%q}`, formatPhone(c.phone), quality)
	value := fmt.Appendf(nil, `{"display_phone_number":"%d","event":"QUALITY","current_limit":%q}`, c.phone, c.Tier)
	return []int{s.addExtra(&extra{
		typ: "number.updated", company: c.Company, conn: c, at: now,
		data: data, field: "phone_number_quality_update", value: value,
	})}, nil
}

// SetFaults replaces all faults. The new ones hold from the next POST on.
func (s *Sandbox) SetFaults(f Faults) error {
	if err := f.validate(); err != nil {
		return err
	}
	s.faults.Store(&f)
	return nil
}

// Faults returns the faults in force.
func (s *Sandbox) Faults() Faults { return *s.faults.Load() }

func (s *Sandbox) pushAll(extras []int) {
	now := time.Now()
	for _, i := range extras {
		s.pushExtra(i, now)
	}
}

// follow does the steps of the timeline that have an After.
func (s *Sandbox) follow(ctx context.Context) {
	began := time.Now()
	for _, st := range s.opt.Timeline {
		if st.After == 0 {
			continue
		}
		// The steps come in the order of the file, even if a later one has the smaller After.
		s.sleep(ctx, time.Until(began.Add(st.After)))
		if ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		pushed := s.step(st)
		s.mu.Unlock()
		s.pushAll(pushed)
	}
}

// reached does the steps that are due after n accepted messages. The caller holds s.mu. It returns
// the extras to push.
func (s *Sandbox) reached(n int64) (pushed []int) {
	if len(s.steps) == 0 {
		return nil
	}
	keep := s.steps[:0]
	for _, st := range s.steps {
		if st.AfterMessages > n {
			keep = append(keep, st)
			continue
		}
		pushed = append(pushed, s.step(st)...)
	}
	s.steps = keep
	return pushed
}

// step does one step. The caller holds s.mu. It returns the extras to push.
func (s *Sandbox) step(st Step) (pushed []int) {
	now := time.Now()
	note := func(extras []int, err error) {
		if err != nil {
			s.opt.Log.Error("timeline step failed", "error", err)
		}
		pushed = append(pushed, extras...)
	}
	if st.Template != "" {
		note(s.setTemplate(st.Template, st.Language, st.Status, now))
	}
	if st.Company != "" && st.Status != "" {
		note(s.setCompany(st.Company, st.Status, now))
	}
	if st.Account != "" {
		note(s.setAccount(st.Account, st.Status, now))
	}
	if st.Connection != "" && st.Quality != "" {
		note(s.setQuality(st.Connection, st.Quality, now))
	}
	if st.Connection != "" && st.Status != "" {
		note(s.setNumber(st.Connection, st.Status, now))
	}
	if st.Allowance != nil {
		note(nil, s.setAllowance(st.Company, *st.Allowance, now))
	}
	if st.Event != nil {
		note(s.announce(*st.Event, now))
	}
	if st.Faults != nil {
		f := *st.Faults
		s.faults.Store(&f)
	}
	return pushed
}
