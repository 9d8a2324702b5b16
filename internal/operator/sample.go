package operator

import (
	"context"
	"errors"

	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
)

// Sample is the message of a row of a list, for the campaign file at path; row 0: the first row
// that can be sent.
func (p *Process) Sample(ctx context.Context, path, list string, row int64) (*launch.Sample, error) {
	in := launch.SampleInput{File: path, List: list, Row: row, OptOut: p.OptOut}
	if p.Messages != nil {
		in.Service = p.Messages
	}
	s, err := launch.ReadSample(ctx, in)
	return s, ofService(err)
}

// SendTest sends the message of a row, as Sample has it, to a number of the operator, who is d. It
// is written into the log of actions with the number masked.
func (p *Process) SendTest(
	ctx context.Context, d *Session, campaign, path, list string, row int64, to string,
) (*launch.Sample, messaging.Receipt, error) {
	none := messaging.Receipt{}
	if p.Messages == nil {
		return nil, none, invalid("no messaging service is configured")
	}
	in := launch.SampleInput{File: path, List: list, Row: row, OptOut: p.OptOut}
	number, key, err := in.TestNumber(to)
	if err != nil {
		return nil, none, invalid("%v", err)
	}
	if in.Suppressions, err = d.Ledger.SuppressionsOf(ctx, key); err != nil {
		return nil, none, err
	}
	if _, _, err := in.TestNumber(to); err != nil {
		return nil, none, invalid("%v", err)
	}
	if err := d.note(ctx, "test message", campaign, "to "+messaging.Scrub(number, maxNumber)); err != nil {
		return nil, none, err
	}
	s, receipt, err := launch.SendTest(ctx, p.Messages, p.Turn, in, number)
	return s, receipt, ofService(err)
}

// maxNumber is more bytes than a masked number has.
const maxNumber = 40

// ofService marks an error of the service.
func ofService(err error) error {
	if e := (*messaging.Error)(nil); errors.As(err, &e) {
		return failed(err)
	}
	return err
}
