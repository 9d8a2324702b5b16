package sandbox

import (
	"net/http"
	"time"
)

// listConnections is GET /api/v1/connections: the connections that the key can reach.
func (s *Sandbox) listConnections(w http.ResponseWriter, r *http.Request, key *Key) {
	type entry struct {
		ID          string `json:"id"`
		PhoneNumber string `json:"phoneNumber"`
		DisplayName string `json:"displayName"`
		CompanyID   string `json:"companyId"`
		Status      string `json:"status"`
	}
	out := list[entry]{Data: []entry{}}
	s.mu.Lock()
	for _, c := range s.connections {
		if covers(key, c.Company) {
			out.Data = append(out.Data, entry{c.ID, formatPhone(c.phone), c.DisplayName, c.Company, c.Status})
		}
	}
	s.mu.Unlock()
	writePage(s, w, r, out)
}

// listNumbers is GET /api/v1/numbers: the health of the numbers that have a tier.
func (s *Sandbox) listNumbers(w http.ResponseWriter, r *http.Request, key *Key) {
	type level struct {
		Level string `json:"level"`
	}
	type entry struct {
		ConnectionID       string `json:"connectionId"`
		PhoneNumber        string `json:"phoneNumber"`
		QualityRating      string `json:"qualityRating"`
		MessagingLimitTier string `json:"messagingLimitTier"`
		Throughput         level  `json:"throughput"`
		Coexistence        bool   `json:"coexistence"`
	}
	out := list[entry]{Data: []entry{}}
	s.mu.Lock()
	for _, c := range s.connections {
		if covers(key, c.Company) && c.Tier != "" {
			out.Data = append(out.Data, entry{c.ID, formatPhone(c.phone), c.Quality, c.Tier, level{c.Throughput}, c.Coexistence})
		}
	}
	s.mu.Unlock()
	writePage(s, w, r, out)
}

// listCompanies is GET /api/v1/companies. The fields are assumed.
func (s *Sandbox) listCompanies(w http.ResponseWriter, _ *http.Request, key *Key) {
	type entry struct {
		ID     string `json:"id"`
		Name   string `json:"name"`
		Status string `json:"status"`
	}
	out := list[entry]{Data: []entry{}}
	s.mu.Lock()
	for _, c := range s.companies {
		if covers(key, c.ID) {
			status := "active"
			if c.Suspended {
				status = "suspended"
			}
			out.Data = append(out.Data, entry{c.ID, c.Name, status})
		}
	}
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, out)
}

// billing is GET /api/v1/billing/usage: the number of messages of the month.
func (s *Sandbox) billing(w http.ResponseWriter, _ *http.Request, _ *Key) {
	type usage struct {
		MessagesUsed  int64 `json:"messagesUsed"`
		MessagesLimit int64 `json:"messagesLimit"` // 0: unlimited
	}
	s.mu.Lock()
	out := usage{MessagesLimit: max(s.plan.limit, 0)}
	counted := map[*plan]bool{}
	for _, c := range s.companies {
		if c.Allowance == 0 && !counted[c.plan] {
			counted[c.plan] = true
			c.plan.left(time.Now()) // sets used to 0 if a new month has started
			out.MessagesUsed += c.plan.used
		}
	}
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, single[usage]{Data: out})
}
