package sandbox

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// change calls do while it holds s.mu. Then it releases s.mu and pushes the extras that do returns.
func (s *Sandbox) change(do func(now time.Time) (pushed []int, _ error)) error {
	s.mu.Lock()
	pushed, err := do(time.Now())
	pushed = append(pushed, s.takeFresh()...)
	s.mu.Unlock()
	s.pushAll(pushed)
	return err
}

// SetTemplate changes the state of a template and posts template.status. An empty language means
// every language. The status is approved, paused, disabled, rejected, pending or deleted.
func (s *Sandbox) SetTemplate(name, language, status string) error {
	return s.setTemplate(name, language, status, false)
}

// setTemplate is SetTemplate. With silent the change is at the platform only: nothing is posted,
// and the listing shows the change after the next sync. A send meanwhile is refused with 132015.
func (s *Sandbox) setTemplate(name, language, status string, silent bool) error {
	return s.change(func(now time.Time) ([]int, error) {
		return nil, s.areas.SetTemplate(name, language, status, silent, now)
	})
}

// SetCompany changes the status of a company to suspended or active, and posts account.updated.
func (s *Sandbox) SetCompany(id, status string) error {
	return s.change(func(now time.Time) ([]int, error) { return s.setCompany(id, status, now) })
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
	return s.change(func(now time.Time) ([]int, error) { return s.setQuality(connection, quality, now) })
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

// numberCodes are the states of a number that cannot send, with the platform code of the refusal.
var numberCodes = map[string]int{"restricted": 131048, "maintenance": 131057, "disconnected": 133010}

// SetNumber changes the state of a connection's number to connected, restricted (refused with
// 131048), maintenance (131057) or disconnected (133010), and posts number.updated.
func (s *Sandbox) SetNumber(connection, status string) error {
	return s.change(func(now time.Time) ([]int, error) { return s.setNumber(connection, status, now) })
}

func (s *Sandbox) setNumber(id, status string, now time.Time) (pushed []int, _ error) {
	c := s.connection[id]
	if c == nil {
		return nil, fmt.Errorf("sandbox: no connection %q", id)
	}
	if status != "connected" && numberCodes[status] == 0 {
		return nil, fmt.Errorf("sandbox: number status %q is not connected, restricted, maintenance or disconnected", status)
	}
	c.Status = status
	data := fmt.Appendf(nil, `{"phoneNumber":%q,"status":%q}`, formatPhone(c.phone), status)
	value := fmt.Appendf(nil, `{"display_phone_number":"%d","event":%q}`, c.phone, strings.ToUpper(status))
	return []int{s.addExtra(&extra{
		typ: "number.updated", company: c.Company, conn: c, at: now,
		data: data, field: "phone_number_quality_update", value: value,
	})}, nil
}

// SetAccount changes the state of a company's business account at the platform to active, locked
// (refused with 131031) or unpaid (accepted, then failed with 131042), and posts account.updated.
func (s *Sandbox) SetAccount(company, status string) error {
	return s.change(func(now time.Time) ([]int, error) { return s.setAccount(company, status, now) })
}

func (s *Sandbox) setAccount(id, status string, now time.Time) (pushed []int, _ error) {
	c := s.company[id]
	if c == nil {
		return nil, fmt.Errorf("sandbox: no company %q", id)
	}
	state := "DISABLE"
	switch status {
	case "active":
		state = "REINSTATE"
	case "locked", "unpaid":
	default:
		return nil, fmt.Errorf("sandbox: account status %q is not active, locked or unpaid", status)
	}
	c.account = status
	data := fmt.Appendf(nil, `{"accountId":"%d","status":%q}`, s.accountID(id), status)
	value := fmt.Appendf(nil, `{"event":"DISABLED_UPDATE","ban_info":{"waba_ban_state":%q}}`, state)
	return []int{s.addExtra(&extra{
		typ: "account.updated", company: id, conn: s.firstOf(c), at: now, data: data, field: "account_update", value: value,
	})}, nil
}

// firstOf returns the first connection of the company, or nil. An event about the whole company
// names this connection.
func (s *Sandbox) firstOf(c *company) *connection {
	for _, conn := range s.connections {
		if conn.company == c {
			return conn
		}
	}
	return nil
}

// SetAllowance sets how many more messages the plan accepts this month. A negative number means no
// limit. company is the id of a company with its own plan; "" means the plan of the account.
func (s *Sandbox) SetAllowance(company string, messages int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.setAllowance(company, messages, time.Now())
}

func (s *Sandbox) setAllowance(company string, messages int64, now time.Time) error {
	p := s.plan
	if company != "" {
		c := s.company[company]
		if c == nil || c.plan == s.plan {
			return fmt.Errorf("sandbox: company %q has no own plan", company)
		}
		p = c.plan
	}
	p.left(now) // sets used to 0 if a new month has started
	switch p.limit = p.used + messages; {
	case messages < 0:
		p.limit = 0
	case p.limit == 0: // 0 would mean unlimited
		p.limit = -1
	}
	return nil
}

// SetFaults replaces all faults. The new ones apply from the next POST on.
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

// follow applies the steps of the timeline that have an After.
func (s *Sandbox) follow(ctx context.Context) {
	began := time.Now()
	for _, st := range s.opt.Timeline {
		if st.After == 0 {
			continue
		}
		// A step waits for the steps before it in the file, even if its After is smaller than theirs.
		s.sleep(ctx, time.Until(began.Add(st.After)))
		if ctx.Err() != nil {
			return
		}
		_ = s.change(func(time.Time) ([]int, error) { return s.step(st), nil }) // it returns no error
	}
}

// reached applies the steps that are due after n accepted messages. The caller holds s.mu. It
// returns the extras to push.
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

// step applies one step of the timeline. The caller holds s.mu. It returns the extras to push.
func (s *Sandbox) step(st Step) (pushed []int) {
	now := time.Now()
	note := func(extras []int, err error) {
		if err != nil {
			s.opt.Log.Error("timeline step failed", "err", err)
		}
		pushed = append(pushed, extras...)
	}
	if st.Template != "" {
		note(nil, s.areas.SetTemplate(st.Template, st.Language, st.Status, false, now))
		pushed = append(pushed, s.takeFresh()...)
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
