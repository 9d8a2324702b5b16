package config

import (
	"fmt"
	"net/http"
	"time"

	"campaignd/internal/messaging/cloud"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/messaging/service"
)

// NewConnectors makes the clients of the configured service and of the Cloud API.
func NewConnectors(cfg *Config) (*connector.Set, error) {
	s := &connector.Set{}
	var err error
	if !cfg.Service.APIKey.IsZero() {
		if s.Service, err = NewClient(cfg); err != nil {
			return nil, err
		}
	}
	if cfg.Cloud.Configured() {
		o, _, err := CloudOptions(cfg)
		if err != nil {
			return nil, err
		}
		if s.Cloud, err = cloud.New(o); err != nil {
			return nil, fmt.Errorf("cloud.%w", err)
		}
	}
	if s.Service == nil && s.Cloud == nil {
		return nil, connector.ErrNone
	}
	return s, nil
}

// NewClient makes the client of the configured service.
func NewClient(cfg *Config) (*service.Client, error) { return NewClientOver(cfg, nil) }

// NewClientOver is NewClient with a transport; nil: the client's own.
func NewClientOver(cfg *Config, transport http.RoundTripper) (*service.Client, error) {
	return service.New(service.Options{
		BaseURL: cfg.Service.BaseURL, APIKey: cfg.Service.APIKey, Timeout: time.Duration(cfg.Service.Timeout),
		AllowHTTP: cfg.Service.AllowHTTP, UserAgent: cfg.Service.UserAgent,
		MaxInFlight: cfg.Sending.InFlight * max(len(cfg.Numbers), 4), ProvenRefusals: cfg.Service.ProvenRefusals(),
		Assumed: cfg.Service.Assumptions(), Transport: transport,
	})
}
