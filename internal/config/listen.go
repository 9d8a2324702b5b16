package config

// Console is the pages for operators on the admin listener.
type Console struct {
	// false: the admin listener has no pages.
	Enabled bool `yaml:"enabled" json:"enabled"`
	// A proxy with a certificate is before the admin listener. Without it and without listen.admin_tls
	// only a browser on this machine may sign in.
	BehindTLS bool `yaml:"behind_tls" json:"behind_tls"`
}

// TLS names the files of a certificate. They are read again within a second of a change.
type TLS struct {
	// PEM file of the certificate and those that signed it.
	Certificate string `yaml:"certificate" json:"certificate"`
	// PEM file of its private key.
	Key string `yaml:"key" json:"key"`
}
