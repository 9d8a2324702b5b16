package resource

import "time"

// Upload is the state of a list that is uploaded in parts.
type Upload struct {
	// ID names a list whose hash is not known yet.
	ID        string    `json:"id,omitempty"`
	Hash      string    `json:"hash,omitempty"`      // SHA-256 of the whole list
	Received  int64     `json:"received"`            // bytes from its beginning
	ExpiresAt time.Time `json:"expires_at,omitzero"` // when the server removes it, if no part follows
}

// ListHead is the beginning of an uploaded list. A list of which a part is missing may end within
// its last row.
type ListHead struct {
	Dialect ListDialect `json:"dialect"`
	Skip    int         `json:"skip,omitempty"` // lines above the header: recipients.skip
	Header  []string    `json:"header"`         // the names of the columns
	// To is the column that probably has the phone numbers: recipients.columns.to; "": none looks like
	// it.
	To   string    `json:"to,omitempty"`
	Rows []HeadRow `json:"rows"`
}

// ListDialect is how a list is written.
type ListDialect struct {
	Delimiter   string `json:"delimiter"`             // one character
	Encoding    string `json:"encoding"`              // as recipients.encoding has it
	Compression string `json:"compression,omitempty"` // gzip or zstd
	BOM         bool   `json:"bom,omitempty"`         // it begins with a byte order mark
}

// HeadRow is a row of a list. A cell of more than 1,000 characters is cut, and ends with an
// ellipsis.
type HeadRow struct {
	Line  int      `json:"line"` // in the file, from 1
	Cells []string `json:"cells"`
}
