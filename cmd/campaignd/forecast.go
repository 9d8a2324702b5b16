package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
	"campaignd/internal/client"
	"campaignd/internal/command"
	"campaignd/internal/daemon"
	"campaignd/internal/sentence"
)

func (p *program) cmdForecast() *cobra.Command {
	var list string
	cmd := &cobra.Command{
		Use:   "forecast CAMPAIGN.yaml | RUN",
		Short: "Show when a campaign or a run will finish, and what limits it",
		Long: `Simulates the rules of the senders on a virtual clock, with every unfinished run of the ledger. The output shows
when the last row will be sent, what limits each hour until then, whether the deadline can be met, and which change
would help most. A campaign file is forecast as if it were launched now with its list; a run is forecast from where
it is now. Nothing is sent or stored.`,
		Example: `  campaignd forecast spring.yaml --recipients list.csv
  campaignd forecast spring-sale-3
  campaignd forecast latest -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("want one campaign file or one run; for example `%s spring.yaml` or `%[1]s latest`", cmd.CommandPath())
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&list, "recipients", "", "the list of a campaign (default: recipients.file of the campaign)")
	o := command.AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var f plan.Forecast
		var err error
		if isCampaignFile(args[0]) {
			if err := oneCampaign(cmd, args); err != nil {
				return command.Invalid(err)
			}
			f, err = p.forecastCampaign(cmd.Context(), args[0], list)
		} else {
			if list != "" {
				return command.Invalid(fmt.Errorf("%s is no campaign file, and --recipients goes with one", args[0]))
			}
			f, err = p.forecastRun(cmd.Context(), args[0])
		}
		if err != nil {
			return err
		}
		if o.JSON() {
			return command.WriteJSON(p.Stdout, f)
		}
		return p.writeForecast(f)
	}
	return cmd
}

// isCampaignFile reports whether an argument names a campaign file and not a run.
func isCampaignFile(arg string) bool {
	if strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml") {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && info.Mode()&fs.ModeType == 0
}

// forecastCampaign forecasts a campaign as if it were launched now.
func (p *program) forecastCampaign(ctx context.Context, path, list string) (f plan.Forecast, err error) {
	far, err := p.Remote()
	if err != nil {
		return f, err
	}
	if far != nil {
		return there(p, path, list, func(r client.Launch) (plan.Forecast, error) {
			return far.ForecastLaunch(ctx, r)
		})
	}
	found, err := p.check(ctx, path, checkFlags{list: list})
	if err != nil {
		return plan.Forecast{}, err
	}
	if !found.OK() {
		return plan.Forecast{}, command.FaultOf(found)
	}
	c, err := p.load()
	if err != nil {
		return plan.Forecast{}, err
	}
	def, _, err := file.Load(path)
	if err != nil {
		return plan.Forecast{}, err
	}
	var l campaign.Ledger
	if !c.NoLedger() {
		if l, err = daemon.OpenLedger(ctx, c, false, p.log(c, true)); err != nil {
			return plan.Forecast{}, err
		}
		defer command.Leaving(l, p.Stderr)
	}
	return daemon.ForecastLaunch(ctx, c, l, nil, def, found, time.Now())
}

// forecastRun forecasts a run.
func (p *program) forecastRun(ctx context.Context, id string) (f plan.Forecast, err error) {
	err = p.WithOperations(ctx, command.ToRead, func(d command.Operations) error {
		f, err = d.Forecast(ctx, id)
		return err
	})
	return f, err
}

// writeForecast writes a forecast for a person.
func (p *program) writeForecast(f plan.Forecast) error {
	w := &strings.Builder{}
	fmt.Fprintf(w, "%s: ", sentence.Printable(f.Run))
	switch {
	case f.Never && f.Messages == 0:
		fmt.Fprintf(w, "nothing will be sent within a year, because of: %s\n", f.LimitedBy)
	case f.Never:
		fmt.Fprintf(w, "not done within a year; %s would be sent\n", sentence.Count(f.Messages, "message", "messages"))
	case f.Messages == 0 && f.Unsent == 0:
		fmt.Fprintln(w, "nothing is left to send")
	default:
		fmt.Fprintf(w, "%s, done at %s", sentence.Count(f.Messages, "message", "messages"), command.Clock(f.Finish))
		if f.High.Sub(f.Low) >= 2*time.Second {
			fmt.Fprintf(w, ", in eight of ten cases between %s and %s", command.Clock(f.Low), command.Clock(f.High))
		}
		fmt.Fprintf(w, "\n%s from the first message to the last answer; limited by: %s\n",
			campaign.Duration(time.Duration(f.Seconds)*time.Second), f.LimitedBy)
	}
	if f.Cost != nil {
		writeCost(w, f.Cost)
	}
	if f.Note != "" {
		fmt.Fprintf(w, "%s\n", f.Note)
	}
	if len(f.Unread) > 0 {
		fmt.Fprintf(w, "left out, because this version cannot read them: %s\n", strings.Join(f.Unread, ", "))
	}
	if f.Unsent > 0 {
		fmt.Fprintf(w, "not sent: %s, because of not_after or max_messages\n", sentence.Count(f.Unsent, "row", "rows"))
	}
	if !f.Deadline.IsZero() {
		holds := "holds"
		if !f.DeadlineHolds {
			holds = "does not hold"
		}
		fmt.Fprintf(w, "deadline %s %s\n", command.Clock(f.Deadline), holds)
	}
	for _, r := range f.RunsOut {
		fmt.Fprintf(w, "%s used up at %s: row %d waits\n", r.LimitedBy, command.Clock(r.At), r.Row)
	}
	if f.Asset != nil {
		fmt.Fprintf(w, "the service deletes the header medium at %s, before %s\n", command.Clock(f.Asset.Until),
			sentence.Count(f.Asset.Unsent, "message is sent", "messages are sent"))
	}
	for _, id := range f.Assumed {
		fmt.Fprintf(w, "the service does not tell the throughput of %s: 80 a second (STANDARD) is assumed\n", sentence.Printable(id))
	}
	for _, n := range f.Numbers {
		if len(f.Numbers) > 1 {
			fmt.Fprintf(w, "%s sends %d\n", sentence.Printable(n.Connection), n.Messages)
		}
		if n.Pace != "" {
			fmt.Fprintf(w, "%s: %s\n", sentence.Printable(n.Connection), n.Pace)
		}
	}
	for _, h := range f.Helps {
		fmt.Fprintln(w, h)
	}
	if len(f.Hours) > 0 {
		fmt.Fprintln(w)
		bars := 0
		if command.IsTerminal(p.Stdout) {
			bars = 30
		}
		if err := command.WriteTable(w, curveHeads(bars), curveRows(f.Hours, bars)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprint(p.Stdout, w.String())
	return err
}

func curveHeads(bars int) []string {
	if bars > 0 {
		return []string{"FROM (UTC)", "MESSAGES", "", "LIMITED BY"}
	}
	return []string{"FROM (UTC)", "MESSAGES", "LIMITED BY"}
}

// curveRows are the lines of a curve.
func curveRows(hours []plan.Hour, bars int) (rows [][]string) {
	lines, days := plan.Curve(hours)
	var most int64 = 1
	for _, l := range lines {
		most = max(most, l.Messages)
	}
	for _, l := range lines {
		from := l.Start.UTC().Format("Mon 2006-01-02 15:04")
		if days {
			from = l.Start.UTC().Format("Mon 2006-01-02")
		}
		row := []string{from, strconv.FormatInt(l.Messages, 10)}
		if bars > 0 {
			row = append(row, strings.Repeat("#", int((int64(bars)*l.Messages+most-1)/most)))
		}
		rows = append(rows, append(row, string(l.LimitedBy)))
	}
	return rows
}
