package sandbox

import (
	"net/http"

	"campaignd/internal/sandbox/area"
)

// connectionRow is a connection as the service shows it.
type connectionRow struct {
	ID          string `json:"id"`
	PhoneNumber string `json:"phoneNumber"`
	DisplayName string `json:"displayName"`
	CompanyID   string `json:"companyId"`
	Status      string `json:"status"`
}

func (c *connection) row() connectionRow {
	return connectionRow{c.ID, formatPhone(c.phone), c.DisplayName, c.Company, c.Status}
}

// listConnections is GET /api/v1/connections: the connections that the key can reach.
func (s *Sandbox) listConnections(w http.ResponseWriter, r *http.Request, key *Key) {
	out := list[connectionRow]{Data: []connectionRow{}}
	s.mu.Lock()
	for _, c := range s.connections {
		if covers(key, c.Company) {
			out.Data = append(out.Data, c.row())
		}
	}
	s.mu.Unlock()
	writePage(s, w, r, out)
}

// showConnection is GET /api/v1/connections/{id}.
func (s *Sandbox) showConnection(w http.ResponseWriter, _ *http.Request, key *Key, id string) {
	c := s.scoped(key, id)
	if c == nil {
		refuse(w, &area.RefuseConnection)
		return
	}
	s.mu.Lock()
	row := c.row()
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, single[connectionRow]{Data: row})
}

// numberRow is the health of a number as the service shows it.
type numberRow struct {
	ConnectionID       string      `json:"connectionId"`
	PhoneNumber        string      `json:"phoneNumber"`
	QualityRating      string      `json:"qualityRating"`
	MessagingLimitTier string      `json:"messagingLimitTier"`
	Throughput         numberLevel `json:"throughput"`
	Coexistence        bool        `json:"coexistence"`
}

type numberLevel struct {
	Level string `json:"level"`
}

func (c *connection) health() numberRow {
	return numberRow{c.ID, formatPhone(c.phone), c.Quality, c.Tier, numberLevel{c.Throughput}, c.Coexistence}
}

// listNumbers is GET /api/v1/numbers: the health of the numbers that have a tier.
func (s *Sandbox) listNumbers(w http.ResponseWriter, r *http.Request, key *Key) {
	out := list[numberRow]{Data: []numberRow{}}
	s.mu.Lock()
	for _, c := range s.connections {
		if covers(key, c.Company) && c.Tier != "" {
			out.Data = append(out.Data, c.health())
		}
	}
	s.mu.Unlock()
	writePage(s, w, r, out)
}

// showNumber is GET /api/v1/numbers/{connectionId}.
func (s *Sandbox) showNumber(w http.ResponseWriter, _ *http.Request, key *Key, id string) {
	c := s.scoped(key, id)
	if c == nil || c.Tier == "" {
		refuse(w, &area.RefuseConnection)
		return
	}
	s.mu.Lock()
	row := c.health()
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, single[numberRow]{Data: row})
}

// companyRow is a client as the service shows it.
type companyRow struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
}

func (c *company) row() companyRow {
	if c.Suspended {
		return companyRow{c.ID, c.Name, "suspended"}
	}
	return companyRow{c.ID, c.Name, "active"}
}

// listCompanies is GET /api/v1/companies. The fields are assumed.
func (s *Sandbox) listCompanies(w http.ResponseWriter, _ *http.Request, key *Key) {
	out := list[companyRow]{Data: []companyRow{}}
	s.mu.Lock()
	for _, c := range s.companies {
		if covers(key, c.ID) {
			out.Data = append(out.Data, c.row())
		}
	}
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, out)
}

// showCompany is GET /api/v1/companies/{id}.
func (s *Sandbox) showCompany(w http.ResponseWriter, _ *http.Request, key *Key, id string) {
	c := s.company[id]
	if c == nil || !covers(key, id) {
		refuse(w, area.Refuse(404, "not_found", "No such company."))
		return
	}
	type row struct {
		companyRow
		Verified      bool     `json:"verified"`
		ConnectionIDs []string `json:"connectionIds"`
	}
	s.mu.Lock()
	out := row{c.row(), c.Verified == nil || *c.Verified, []string{}}
	for _, n := range s.connections {
		if n.company == c {
			out.ConnectionIDs = append(out.ConnectionIDs, n.ID)
		}
	}
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, single[row]{Data: out})
}
