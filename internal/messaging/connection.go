package messaging

// Connection is one business account plus one phone number that the key can reach.
type Connection struct {
	// ID is the connectionId of every send.
	ID string
	// Phone is the number as the service writes it; E.164 is expected.
	Phone string
	// CompanyID is the company that the connection belongs to.
	CompanyID string
	// AccountID is the business account of the platform; "" if the service does not tell it.
	AccountID string
	// Files is the same for connections that can send each other's uploaded files. "" means that those
	// of its company can.
	Files  string
	Status string
}
