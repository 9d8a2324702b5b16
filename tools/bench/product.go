//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/daemon"
	"campaignd/internal/messaging"
)

// productJob is the job of a campaignd that runs one campaign until it is settled, or of a replica.
type productJob struct {
	Sink       string
	File, List string
	Campaigns  string  // a replica's folder with the scheduled campaigns
	Ledger     string  // sqlite:PATH or postgres://...
	Redis      string  // URL; "": limits in the process
	Rate       float64 // messages per second of each number
	InFlight   int     // requests on each connection
	Profile    string  // file for the CPU profile of sending; "": none
	Silent     bool    // the service posts no webhooks
	Limits     bool    // a tier that all numbers share, and an allowance
	Retention  bool    // deliveries are deleted after 32 days
	Postgres   int     // process id of a server whose CPU time is measured too; 0: none
}

// config returns the default configuration with the addresses and rates of the job.
func (job productJob) config() *config.Config {
	cfg := config.Default()
	cfg.Listen.Public, cfg.Listen.Admin = "127.0.0.1:0", "127.0.0.1:0"
	cfg.Ledger, cfg.Redis = job.Ledger, job.Redis
	cfg.Service.BaseURL, cfg.Service.APIKey = job.Sink, messaging.NewSecret(apiKey)
	cfg.Webhooks.Secrets = []messaging.Secret{messaging.NewSecret(secret)}
	cfg.Sending.InFlight = job.InFlight
	cfg.Numbers = map[string]config.Number{}
	for i := range connections {
		n := config.Number{Rate: job.Rate}
		if job.Limits {
			n.Tier, n.Portfolio, n.Company = plenty, "bench", "bench"
		}
		cfg.Numbers[fmt.Sprintf("conn_%d", i+1)] = n
	}
	if job.Retention {
		cfg.Retention.Deliveries = campaign.Duration(32 * 24 * time.Hour)
	}
	if job.Limits {
		cfg.Plan.MonthlyMessages = plenty
	}
	return cfg
}

// plenty is a tier and an allowance that no measurement uses up.
const plenty = 50_000_000

// unpaced is the highest rate that a number can have. It limits nothing here.
const unpaced = 10_000

// spent is what a campaignd used while it sent.
type spent struct {
	CPU       time.Duration // from the first message to the end of the run
	Database  time.Duration // CPU time of PostgreSQL's processes in that time
	Peak      int64         // the most memory of the process since its start, in bytes
	Delivered int64         // messages that ended as read
}

// runCampaignd runs campaignd as `campaignd run` does.
func runCampaignd(ctx context.Context, in *json.Decoder, out *json.Encoder) (err error) {
	var job productJob
	if err := in.Decode(&job); err != nil {
		return err
	}
	d, err := daemon.New(ctx, job.config(), daemon.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := register(ctx, job.Sink, d.PublicURL()); err != nil {
		return err
	}
	var began, database time.Duration
	stopProfile := func() {}
	settle := 30 * time.Second
	if job.Silent {
		settle = 0
	}
	result, err := d.RunCampaign(ctx, daemon.RunOptions{
		File: job.File, List: job.List, Settle: settle,
		Progress: func(p daemon.Progress) {
			if p.Phase == "sending" && began == 0 {
				began = cpu()
				database = serverCPU(job.Postgres)
				if job.Profile != "" {
					stopProfile, err = profile(job.Profile)
				}
			}
		},
	})
	stopProfile()
	if err != nil {
		return err
	}
	return out.Encode(spent{
		CPU: cpu() - began, Database: serverCPU(job.Postgres) - database, Peak: peak(), Delivered: result.Report.Totals[campaign.Read],
	})
}

// profile writes a CPU profile until the returned function is called.
func profile(path string) (stop func(), err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}
