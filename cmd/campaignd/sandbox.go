package main

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"campaignd/internal/command"
	"campaignd/internal/daemon"
	"campaignd/internal/sandbox"
)

func (p *program) cmdSandbox() *cobra.Command {
	var addr, webhook, secret, scenario, api string
	var retries []string
	var faults []string
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Emulate the messaging service on this machine, with faults on request",
		Long: `Answers as the messaging service does: with its rules, its errors, and signed webhooks with retries. Nothing is delivered to
anybody. Without --scenario it has four numbers (conn_1 to conn_4), a few templates (spring_sale, order_update, ...) and a
realistic mix of recipients: some are unreachable, some do not read, a few answer STOP. Its key is sandbox-key.
GET /sandbox/truth lists the messages that it accepted. It also answers as the commerce platform, at /2023-11/, /oauth/ and /pay/:
of the section commerce of the scenario, or of a demo shop.

It has faults on request: by --fault, by the timeline of a scenario, or by requests while it runs (docs/sandbox.md has all of them):
  hang_before=1, no_id=1                            answer no request; accept without an id
  pages=[{status: 403, share: 0.01}]                HTML instead of the answer, here to one recipient in a hundred
  server_error=1, lost_before=1, too_many_requests=0.01
  refusals=[{code: 190, share: 1, connections: [conn_1]}]
  fail_later=[{code: 131042, share: 1}]             accept, and fail by webhook
  away=[numbers]                                    management endpoints answer 503
  PUT /sandbox/faults                               other faults; {} ends all
  POST /sandbox/companies/co_1/status               {"status": "suspended"} or active: a client
  POST /sandbox/accounts/co_1/status                {"status": "locked"}, unpaid or active: its business account
  POST /sandbox/numbers/conn_1/status               {"status": "restricted"}, maintenance, disconnected or connected
  POST /sandbox/templates/spring_sale/status        {"status": "paused"}, approved, rejected or deleted;
                                                    "silent": true: the service learns it at a sync
  POST /sandbox/allowance                           {"messages": 0}: how many more the plan allows
  POST /sandbox/events                              {"type": "template.status", "ago": "24h", "data": {}}: any event
  POST /sandbox/replay                              {"all": true}: past events again`,
		Example: `  campaignd sandbox --webhook http://127.0.0.1:8080/webhooks/messaging
  campaignd sandbox --fault lost_after=0.05 --fault webhook_late=0.2 --retry-schedule 1s,5s,30s
  campaignd sandbox --addr 127.0.0.1:9000 --scenario scenario.yaml`,
		Args: command.NoArguments,
	}
	f := cmd.Flags()
	f.StringVar(&addr, "addr", "127.0.0.1:8090", "address to listen on")
	f.StringVar(&api, "api", "service", "wire that it speaks: service, or cloud for the platform's own Cloud API")
	f.StringVar(&webhook, "webhook", "", "URL that events are posted to")
	f.StringVar(&secret, "webhook-secret-file", "",
		"file that holds the secret that they are signed with; without it the secret is sandbox-secret")
	f.StringSliceVar(&retries, "retry-schedule", nil, "waits before each retry of a webhook (default 1m,5m,30m,2h,6h)")
	f.StringVar(&scenario, "scenario", "", "YAML file: numbers, templates, recipients, faults, timeline, commerce")
	f.StringArrayVar(&faults, "fault", nil,
		"NAME=VALUE, such as lost_after=0.05 (a share from 0 to 1) or latency=80ms; may be given several times; added to the scenario's")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.load()
		if err != nil {
			return err
		}
		o := sandbox.Demo()
		if scenario != "" {
			if o, err = sandbox.LoadScenario(scenario); err != nil {
				return command.Invalid(err)
			}
		}
		if cmd.Flags().Changed("api") {
			if o.API = api; api != "service" && api != sandbox.APICloud {
				return command.Invalid(fmt.Errorf("--api: %q is neither service nor cloud", api))
			}
		}
		if webhook != "" {
			if u, err := url.Parse(webhook); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return command.Invalid(fmt.Errorf("--webhook: %q is not a URL; give one such as http://127.0.0.1:8080/webhooks/messaging", webhook))
			}
			o.WebhookURL = webhook
		}
		if secret != "" { // a file, because every user of the machine sees the arguments of a process
			text, err := os.ReadFile(secret)
			if err != nil {
				return command.Invalid(fmt.Errorf("--webhook-secret-file: %w", err))
			}
			if o.WebhookSecret = strings.TrimRight(string(text), "\r\n"); o.WebhookSecret == "" {
				return command.Invalid(fmt.Errorf("--webhook-secret-file: %s is empty", secret))
			}
		}
		if len(retries) > 0 {
			if o.RetrySchedule, err = durations(retries); err != nil {
				return command.Invalid(fmt.Errorf("--retry-schedule: %w", err))
			}
		}
		for _, a := range faults {
			if err := o.Faults.Set(a); err != nil {
				return command.Invalid(fmt.Errorf("--fault: %w; `campaignd sandbox --help` has examples", err))
			}
		}
		o.Log = p.log(c, true)
		return daemon.ServeSandbox(cmd.Context(), addr, o, func(url string) {
			if o.API == sandbox.APICloud {
				fmt.Fprintf(p.Stderr, "sandbox of the Cloud API on %s, token %s, account %s, number %s, app %s, app secret %s, verify token %s\n",
					url, strings.TrimPrefix(keysOf(o), "key "), sandbox.CloudAccount, sandbox.CloudNumber(1), sandbox.CloudApp, appSecretOf(o),
					sandbox.CloudVerifyToken)
			} else {
				fmt.Fprintf(p.Stderr, "sandbox of the messaging service on %s, %s\n", url, keysOf(o))
			}
			if o.WebhookURL != "" {
				fmt.Fprintf(p.Stderr, "events go to %s\n", o.WebhookURL)
			}
			if o.Commerce == nil {
				fmt.Fprintf(p.Stderr, "commerce platform on %s/2023-11, company %s, key %s\n", url, sandbox.DemoCompany, sandbox.DemoCommerceKey)
			}
		})
	}
	return cmd
}

// appSecretOf is the secret of the sandbox's app, or where it comes from.
func appSecretOf(o sandbox.Options) string {
	if o.WebhookSecret == "" || o.WebhookSecret == sandbox.DemoSecret {
		return sandbox.CloudAppSecret
	}
	return "the one in --webhook-secret-file"
}

// keysOf lists the API keys that the sandbox accepts.
func keysOf(o sandbox.Options) string {
	var tokens []string
	for _, k := range o.Keys {
		tokens = append(tokens, k.Token)
	}
	if len(tokens) == 1 {
		return "key " + tokens[0]
	}
	return "keys " + strings.Join(tokens, ", ")
}

func durations(texts []string) ([]time.Duration, error) {
	var all []time.Duration
	for _, s := range texts {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("%q is not a duration such as 30s", s)
		}
		all = append(all, d)
	}
	return all, nil
}
