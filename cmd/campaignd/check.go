package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/campaign/price"
	"campaignd/internal/command"
	"campaignd/internal/config"
	"campaignd/internal/daemon"
	"campaignd/internal/doctor"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/backend"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/sentence"
)

// checkFlags are the flags of check.
type checkFlags struct {
	list, rejects   string
	strict, offline bool
	another         bool // as run --new: the list of an earlier run is no fault
	// examples is the number of rows listed for each reason; 0: launch.FewExamples, which fit on a
	// screen.
	examples int
}

// manyExamples is the number of rows listed for each reason in a file, a pipe or JSON, where the
// list may be longer than a screen. --rejects has no such limit.
const manyExamples = 1000

func (p *program) cmdCheck() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check CAMPAIGN.yaml",
		Short: "Check a campaign and its list; nothing is sent or stored",
		Long: `Reads the campaign file and every row of its list, and asks the service about connections, numbers and the template.
The output shows what would become of each row, where the faults are, whether the sending window is open and how
long sending would take. It also says whether run would launch a new run or continue an existing one, and how many
numbers also appear in an earlier run.

The exit code is 2 if the campaign has a fault, if no row can be sent, or if run (with --new: run --new) would refuse the
list because of an earlier run. It is 0 if run would refuse because the campaign's own schedule sends the list. If only some
rows are bad it is 0, or 2 with --strict. Bad rows are listed with line and reason: on a terminal the first of each reason;
in a file, a pipe or JSON the first thousand. --rejects writes every row that can be corrected into a list, which you can
correct and launch.`,
		Example: `  campaignd check spring.yaml --recipients list.csv
  campaignd check spring.yaml --recipients list.csv --strict --rejects bad-rows.csv
  campaignd check spring.yaml --recipients list.csv --offline -o json`,
		Args: oneCampaign,
	}
	cmd.Flags().StringVar(&f.list, "recipients", "", "the list (default: recipients.file of the campaign)")
	cmd.Flags().StringVar(&f.rejects, "rejects", "", "write the rows that a correction can help to this CSV file, with the reason")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "exit 2 when a row of the list is at fault")
	cmd.Flags().BoolVar(&f.another, "new", false, "check the launch of a new run beside the earlier ones, as run --new")
	cmd.Flags().BoolVar(&f.offline, "offline", false, "do not ask the service: check only the files and the ledger")
	o := command.AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		shown := command.IsTerminal(p.Stdout) && !o.JSON()
		oneScreen := shown && command.IsTerminal(p.Stderr)
		f.examples = manyExamples
		if shown {
			f.examples = 0
		}
		found, err := p.check(cmd.Context(), args[0], f)
		if err != nil {
			return err
		}
		if o.JSON() {
			err = command.WriteJSON(p.Stdout, found)
		} else {
			err = p.writePreflight(found, oneScreen)
		}
		switch {
		case err != nil:
			return err
		case !found.OK() && oneScreen:
			return command.Silent(command.ExitUsage) // the table on the same screen already shows the reason
		case !found.OK():
			return command.FaultOf(found)
		case found.SentBefore.Any() && found.Skipped[campaign.SentBefore] == 0:
			return command.Invalid(fmt.Errorf("`run` would refuse this list: %s; --leave-out-sent sends to the others only, and --send-again "+
				"to all of them", found.SentBefore))
		case found.Launch != nil && found.Launch.Does == launch.Refuses && !f.another:
			return command.Invalid(fmt.Errorf("`run` would refuse this list because of %s, as the launch above says; "+
				"`check --new` checks for `run --new`", found.Launch.Run))
		case f.strict && found.BadRows() > 0:
			return command.Invalid(fmt.Errorf("%s at fault in %s (--strict)", sentence.Count(found.BadRows(), "row is", "rows are"), found.List))
		}
		return nil
	}
	return cmd
}

// check runs the preflight as the flags ask: with or without the service, and with a file for the
// rejected rows.
func (p *program) check(ctx context.Context, path string, f checkFlags) (_ *launch.Preflight, err error) {
	far, err := p.Remote()
	if err != nil {
		return nil, err
	}
	if far != nil {
		return p.checkThere(ctx, far, path, f)
	}
	c, err := p.load()
	if err != nil {
		return nil, err
	}
	def, src, err := file.Load(path)
	if err != nil {
		return nil, err
	}
	if _, err := plan.CronOf(path, src, def); err != nil {
		return nil, err
	}
	in := launch.PreflightInput{Definition: def, Source: src, File: path, List: f.list, Examples: f.examples,
		Repeats: &launch.Repeats{Others: f.another}}
	if in.List == "" && def.Audience != nil && !f.offline {
		done, e := p.listAudience(ctx, c, def, &in)
		if e != nil {
			return nil, withRemedy(c, e)
		}
		defer func() {
			if left := done(); left != nil {
				fmt.Fprintf(p.Stderr, "warning: the list of the audience was not removed: %v\n", left)
			}
		}()
	}
	in.Rate, in.Tier, in.Company, in.OptOut, in.Commerce = c.Rate, c.Tier, c.Company, c.OptOut(), c.Commerce.Configured()
	if in.List == "" {
		if in.List = file.Beside(path, def.Recipients.File); in.List == "" {
			return nil, command.Invalid(fmt.Errorf("%s names no list: set recipients.file, or pass --recipients FILE", path))
		}
	}
	if !f.offline {
		client, err := p.client(c)
		if err != nil {
			return nil, err
		}
		defer client.Close()
		in.Service = client
	}
	l, err := p.ledgerToSendFrom(ctx, c)
	if err != nil {
		return nil, err
	}
	if l != nil {
		defer command.Leaving(l, p.Stderr)
		in.Suppressions, in.Reached = l, l
	}
	if f.rejects != "" {
		done, e := rejectsInto(f.rejects, &in)
		if e != nil {
			return nil, e
		}
		defer func() { err = errors.Join(err, done()) }()
	}
	found, err := checkWithTemplate(ctx, c, l, in)
	if path := newLedger(c); path != "" && found != nil && found.Launch != nil {
		found.Launch.Sentence += " in a new ledger, " + path + ", which knows of no earlier run"
	}
	if found != nil && in.Offer != nil {
		found.List = filepath.Base(found.List) // it is deleted
	}
	if err != nil { // of two faults, the one that is here comes first
		if fault := canBeRead(def, in.List); fault != nil {
			return nil, fault
		}
	}
	return found, withRemedy(c, err)
}

// ledgerToSendFrom opens the ledger of a check, and returns the error with which a sender would
// refuse it: one that is gone or went back in time does not know whom `run` sent to. It is nil if
// the first run makes it.
func (p *program) ledgerToSendFrom(ctx context.Context, c *config.Config) (campaign.Ledger, error) {
	if c.NoLedger() {
		return nil, backend.Lost(c)
	}
	l, err := daemon.OpenLedger(ctx, c, false, p.log(c, true))
	if err != nil {
		return nil, err
	}
	if s, ok := l.(ledger.Sendable); ok {
		if err := s.Sendable(ctx); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// canBeRead opens the list of a campaign, and returns why it cannot be read.
func canBeRead(def *file.Definition, list string) error {
	l, err := launch.OpenList(list, def.ListOptions(list))
	if err != nil {
		return err
	}
	return l.Close()
}

// withRemedy adds the remedy to the error of a service that does not answer, or that does not know
// the key. It returns any other error as it is, and nil for nil.
func withRemedy(c *config.Config, err error) error {
	var e *messaging.Error
	switch {
	case !errors.As(err, &e):
		return err
	case messaging.Untrusted(err) != "":
		return fmt.Errorf("%w; %s", err, messaging.Untrusted(err))
	case c.Service.APIKey.IsZero():
		return withCloudRemedy(c, err, e)
	case e.Status == 0:
		return fmt.Errorf("%w; check service.base_url (%s), or try without a service: campaignd sandbox", err, c.Service.BaseURL)
	case e.Status == http.StatusUnauthorized:
		return fmt.Errorf("%w; %s", err, c.Service.KeyRemedy())
	}
	return err
}

// withCloudRemedy is withRemedy for the Cloud API.
func withCloudRemedy(c *config.Config, err error, e *messaging.Error) error {
	switch e.Status {
	case 0:
		return fmt.Errorf("%w; check cloud.base_url (%s), or try without the platform: campaignd sandbox --api cloud", err, c.Cloud.BaseURL)
	case http.StatusUnauthorized:
		return fmt.Errorf("%w; write a new token of the system user into the token_file of cloud.accounts", err)
	}
	return err
}

// client makes the clients of the configured connectors.
func (p *program) client(c *config.Config) (*connector.Set, error) {
	if err := c.CanSend(); err != nil {
		return nil, command.Invalid(err)
	}
	return config.NewConnectors(c)
}

// writePreflight writes a preflight for a person to read. Without faults it leaves out the faults
// of the campaign, which standard error shows.
func (p *program) writePreflight(f *launch.Preflight, faults bool) error {
	w := bufio.NewWriter(p.Stdout)
	fmt.Fprintf(w, "%s with %s", sentence.Printable(f.Campaign), sentence.Printable(f.List))
	if f.Dialect != "" {
		fmt.Fprintf(w, " (%s)", f.Dialect)
	}
	if f.Rows == 0 && len(f.Errors()) > 0 {
		fmt.Fprint(w, "\nits rows were not judged\n")
	} else {
		fmt.Fprintf(w, "\n%s, %d can be sent\n", sentence.Count(f.Rows, "row", "rows"), f.Sendable)
	}
	for _, reason := range campaign.SkipReasons {
		if n := f.Skipped[reason]; n > 0 {
			fmt.Fprintf(w, "  %d %s: %s\n", n, reason, reason.Sentence())
		}
	}
	switch {
	case f.Duration <= 0:
	case f.LimitedBy != "" && f.LimitedBy != campaign.ByThroughput:
		fmt.Fprintf(w, "sending takes about %s, limited by %s; `campaignd forecast` shows its hours\n",
			campaign.Duration(f.Duration), f.LimitedBy)
	default:
		fmt.Fprintf(w, "sending takes about %s at %.4g messages per second\n", campaign.Duration(f.Duration), f.Pace)
	}
	if f.Cost != nil {
		writeCost(w, f.Cost)
	}
	if len(f.Connections) > 1 {
		command.WriteParagraph(w, "connections: "+connectionPaces(f.Connections))
	}
	if len(f.QuickReplies) > 0 {
		command.WriteParagraph(w, "quick replies: "+quickReplies(f.QuickReplies))
	}
	if f.Window != nil {
		fmt.Fprintf(w, "window %s: %s\n", f.Window.Window, f.Window.Sentence)
	}
	if f.Launch != nil {
		command.WriteParagraph(w, "launch: "+f.Launch.Sentence)
	}
	if assumed := doctor.AssumedLine(f.Assumed, f.NotOffered); assumed != "" {
		command.WriteParagraph(w, "assumed (not in the service's document): "+assumed)
	}
	for _, c := range slices.Sorted(maps.Keys(f.Bound)) {
		fmt.Fprintf(w, "%s reached %s before and sends to them again\n",
			sentence.Printable(c), sentence.Count(f.Bound[c], "recipient", "recipients"))
	}
	writeCountries(w, f.Countries)
	for _, found := range f.Findings {
		if found.Level == file.LevelError && !faults {
			continue
		}
		command.WriteParagraph(w, fmt.Sprintf("%s: %s", found.Level, found))
		if found.Excerpt != "" {
			fmt.Fprintln(w, found.Excerpt)
		}
	}
	if len(f.Examples) > 0 {
		var rows [][]string
		told := map[string]bool{} // each remedy is printed once
		for _, r := range f.Examples {
			why, remedy, found := strings.Cut(r.Note, "; ")
			if found && !told[remedy] {
				told[remedy], why = true, r.Note
			}
			rows = append(rows, []string{strconv.FormatInt(r.Row, 10), string(r.Reason), r.To, why})
		}
		fmt.Fprintln(w)
		if err := command.WriteTable(w, []string{"ROW", "REASON", "TO", "WHERE AND WHY"}, rows); err != nil {
			return err
		}
		if left := f.Rows - f.Sendable - int64(len(f.Examples)); left > 0 {
			fmt.Fprintf(w, "and %d more: --rejects FILE writes those that a correction can help\n", left)
		}
	}
	return w.Flush()
}

// writeCost says what the messages cost, and what the lower figure assumes.
func writeCost(w io.Writer, e *price.Estimate) {
	command.WriteParagraph(w, "cost: "+e.String())
	if assumes := e.Assumes(); assumes != "" {
		command.WriteParagraph(w, assumes)
	}
}

// quickReplies says of each quick reply whether a press opts out.
func quickReplies(all []file.QuickReply) string {
	words := make([]string, len(all))
	for i, q := range all {
		words[i] = q.String()
	}
	return strings.Join(words, ", ")
}

// connectionPaces names the first eight connections, each with its messages per second.
func connectionPaces(all []launch.ConnectionCheck) string {
	const most = 8
	var paces []string
	for _, c := range all[:min(len(all), most)] {
		paces = append(paces, fmt.Sprintf("%s %.4g/s", sentence.Printable(c.ID), c.Pace))
	}
	if len(all) > most {
		paces = append(paces, fmt.Sprintf("%d more", len(all)-most))
	}
	return strings.Join(paces, ", ")
}

// oneCampaign accepts one argument: a campaign file that exists.
func oneCampaign(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 1 && cmd.Flags().Lookup("recipients") != nil:
		return fmt.Errorf("want one campaign file, and got %d arguments; for example `%s spring.yaml --recipients list.csv`",
			len(args), cmd.CommandPath())
	case len(args) != 1:
		return fmt.Errorf("want one campaign file; for example `%s spring.yaml`", cmd.CommandPath())
	}
	switch f, err := os.Stat(args[0]); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("campaign file %s does not exist; check the path", args[0])
	case err == nil && f.IsDir():
		return fmt.Errorf("campaign file %s is a folder; name a campaign file in it", args[0])
	}
	return nil
}
