package sandbox

import (
	"cmp"
	"fmt"

	"campaignd/internal/sandbox/area"
)

// The accounts of the scenario. Package area has them too, so they are its types.
type (
	Key        = area.Key
	Company    = area.Company
	Connection = area.Connection
	Asset      = area.Asset
	Template   = area.Template
	Component  = area.Component
	Button     = area.Button
	Flow       = area.Flow
	Replay     = area.Replay
)

// populate makes the companies, connections, templates and assets of the options.
func (s *Sandbox) populate() error {
	s.plan = &plan{limit: s.opt.Allowance}
	addCompany := func(c Company) *company {
		co := &company{Company: c, number: len(s.companies), plan: s.plan}
		if c.Allowance > 0 {
			co.plan = &plan{limit: c.Allowance, used: c.Used, month: monthOf(s.began)}
		}
		s.companies = append(s.companies, co)
		s.company[c.ID] = co
		return co
	}
	for i, c := range s.opt.Companies {
		if c.ID == "" || s.company[c.ID] != nil {
			return fmt.Errorf("sandbox: companies[%d]: id %q is empty or used twice", i, c.ID)
		}
		addCompany(c)
	}
	portfolios := map[string]*portfolio{}
	for i, c := range s.opt.Connections {
		if s.connection[c.ID] != nil {
			return fmt.Errorf("sandbox: connections[%d]: id %q is used twice", i, c.ID)
		}
		c.Company = cmp.Or(c.Company, "co_1")
		co := s.company[c.Company]
		if co == nil {
			co = addCompany(Company{ID: c.Company})
		}
		c.Throughput = cmp.Or(c.Throughput, "STANDARD")
		c.Quality = cmp.Or(c.Quality, "GREEN")
		c.Status = cmp.Or(c.Status, "connected")
		c.Portfolio = cmp.Or(c.Portfolio, c.Company)
		if portfolios[c.Portfolio] == nil {
			portfolios[c.Portfolio] = &portfolio{reached: map[uint64]int64{}}
		}
		phone, _ := parsePhone(c.Phone)
		conn := &connection{Connection: c, number: i, phone: phone, limit: throughput(c), company: co, portfolio: portfolios[c.Portfolio]}
		s.connections = append(s.connections, conn)
		s.connection[c.ID] = conn
	}
	for i, k := range s.opt.Keys {
		if k.Company != "" && s.company[k.Company] == nil {
			return fmt.Errorf("sandbox: keys[%d]: company %q has no connection", i, k.Company)
		}
		s.keys[k.Token] = &s.opt.Keys[i]
	}
	if err := s.openAreas(); err != nil {
		return err
	}
	for _, n := range s.opt.OptedOut {
		to, _ := parsePhone(n)
		for _, co := range s.companies {
			s.optedOut[pairKey(co.number, to)] = OptOut{Company: co.ID, Phone: formatPhone(to), At: s.began}
		}
	}
	for _, n := range s.opt.WindowOpen {
		to, _ := parsePhone(n)
		s.openFrom[to] = true
	}
	for _, r := range s.opt.Statuses.Recipients {
		to, _ := parsePhone(r.Phone)
		s.named[to] = r
	}
	return nil
}
