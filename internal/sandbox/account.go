package sandbox

import (
	"fmt"
	"time"
)

// Key is an API key.
type Key struct {
	Token string `yaml:"token"`
	// Company is the id of the only company that the key covers. Empty means that the key is
	// partner-wide.
	Company string `yaml:"company"`
}

// Company is a company of the account. The service also calls it a client.
type Company struct {
	ID   string `yaml:"id"`
	Name string `yaml:"name"`
	// Suspended means that every call for the company is refused with 403 account_deactivated.
	Suspended bool `yaml:"suspended"`
	// Allowance is the number of messages per month of the company's own plan. 0 means that the
	// company uses the plan of the account.
	Allowance int64 `yaml:"allowance"`
	// Used is the number of messages of its own plan that were already used this month.
	Used int64 `yaml:"used"`
}

// Connection is one business account plus one phone number.
type Connection struct {
	ID string `yaml:"id"`
	// Phone is E.164 with +.
	Phone       string `yaml:"phone"`
	DisplayName string `yaml:"display_name"`
	// Company is the id of the company. Default co_1.
	Company string `yaml:"company"`
	// Portfolio names the group of numbers that share one tier. Default: the company.
	Portfolio string `yaml:"portfolio"`
	// Throughput is STANDARD (80 messages/s) or HIGH (1,000/s). Default STANDARD.
	Throughput string `yaml:"throughput"`
	// Coexistence limits the number to 20 messages/s.
	Coexistence bool `yaml:"coexistence"`
	// Rate is a limit in messages per second that replaces those of Throughput and Coexistence. 0
	// means that these two apply.
	Rate int `yaml:"rate"`
	// Tier is one of TIER_50, TIER_250, TIER_1K, TIER_2K, TIER_10K, TIER_100K, TIER_UNLIMITED. GET
	// /api/v1/numbers does not list a number without a tier.
	Tier string `yaml:"tier"`
	// Quality is GREEN, YELLOW or RED. Default GREEN.
	Quality string `yaml:"quality"`
	// Status is the state that GET /api/v1/connections shows. The platform refuses the messages of a
	// number that is restricted, disconnected or in maintenance (SetNumber). Default connected.
	Status string `yaml:"status"`
}

// Asset is a file that was stored before the sandbox started.
type Asset struct {
	ID string `yaml:"id"`
	// Company is the id of the company. Default co_1.
	Company string `yaml:"company"`
	// Age is the time since the upload. A file of 30 days or more has expired.
	Age time.Duration `yaml:"age"`
}

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
		if c.Company == "" {
			c.Company = "co_1"
		}
		co := s.company[c.Company]
		if co == nil {
			co = addCompany(Company{ID: c.Company})
		}
		if c.Throughput == "" {
			c.Throughput = "STANDARD"
		}
		if c.Quality == "" {
			c.Quality = "GREEN"
		}
		if c.Status == "" {
			c.Status = "connected"
		}
		if c.Portfolio == "" {
			c.Portfolio = c.Company
		}
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
	for i, t := range s.opt.Templates {
		c := newTemplate(t, i)
		s.templates = append(s.templates, c)
		key := [2]string{t.Name, t.Language}
		s.template[key] = append(s.template[key], c)
	}
	for _, a := range s.opt.Assets {
		if a.Company == "" {
			a.Company = "co_1"
		}
		s.assets[a.ID] = &asset{id: a.ID, company: a.Company, expires: s.began.Add(assetLife - a.Age)}
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
