package campaign

import "time"

// Asset is a header file that was uploaded for a run. The service keeps it for the company whose
// connection uploaded it, so each connection has the asset of its own company.
type Asset struct {
	Connection string // "": every connection without one of its own
	ID         string // assetId
	Until      time.Time
	// File is the absolute path of what was uploaded, and SHA256 its content, to upload it again; ""
	// when that is not known.
	File   string
	SHA256 string
}
