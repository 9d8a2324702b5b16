package area

import "fmt"

func (a *Areas) listingHandlers() map[string]Handler {
	return map[string]Handler{
		"connections": lists(&a.World.Connections, func(c *Connection) string { return c.Company }, a.connectionRow),
		"connection":  a.showConnection,
		"numbers":     a.listNumbers,
		"number":      a.showNumber,
		"companies":   lists(&a.Companies, func(co *Company) string { return co.ID }, (*Company).row),
		"company":     a.showCompany,
	}
}

// connectionRow is a connection as the service shows it.
type connectionRow struct {
	ID          string `json:"id"`
	PhoneNumber string `json:"phoneNumber"`
	DisplayName string `json:"displayName"`
	CompanyID   string `json:"companyId"`
	Status      string `json:"status"`
}

func (a *Areas) connectionRow(c *Connection) connectionRow {
	return connectionRow{c.ID, a.phoneOf(c), c.DisplayName, c.Company, c.Status}
}

func (a *Areas) phoneOf(c *Connection) string { return fmt.Sprintf("+%d", a.ReadPhone(c.Phone)) }

func (a *Areas) showConnection(c *Call) (any, *Refusal) {
	conn := a.connections[c.ID]
	if conn == nil || !c.Key.Covers(conn.Company) {
		return nil, &RefuseConnection
	}
	return a.connectionRow(conn), nil
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

func (a *Areas) numberRow(c *Connection) numberRow {
	return numberRow{c.ID, a.phoneOf(c), c.Quality, c.Tier, numberLevel{c.Throughput}, c.Coexistence}
}

// listNumbers lists the health of the numbers that have a tier.
func (a *Areas) listNumbers(c *Call) (any, *Refusal) {
	rows := []numberRow{}
	for _, conn := range a.World.Connections {
		if c.Key.Covers(conn.Company) && conn.Tier != "" {
			rows = append(rows, a.numberRow(conn))
		}
	}
	return list(rows), nil
}

func (a *Areas) showNumber(c *Call) (any, *Refusal) {
	conn := a.connections[c.ID]
	if conn == nil || !c.Key.Covers(conn.Company) || conn.Tier == "" {
		return nil, &RefuseConnection
	}
	return a.numberRow(conn), nil
}

// companyRow is a client as the service shows it. The fields are assumed.
type companyRow struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
}

func (c *Company) row() companyRow {
	if c.Suspended {
		return companyRow{c.ID, c.Name, "suspended"}
	}
	return companyRow{c.ID, c.Name, "active"}
}

func (a *Areas) showCompany(c *Call) (any, *Refusal) {
	co := a.companies[c.ID]
	if co == nil || !c.Key.Covers(co.ID) {
		return nil, notFound("company")
	}
	row := struct {
		companyRow
		Verified      bool     `json:"verified"`
		ConnectionIDs []string `json:"connectionIds"`
	}{co.row(), co.verified(), []string{}}
	for _, conn := range a.World.Connections {
		if conn.Company == co.ID {
			row.ConnectionIDs = append(row.ConnectionIDs, conn.ID)
		}
	}
	return row, nil
}
