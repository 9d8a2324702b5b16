package ledger

import "fmt"

func JobError(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("job %q: %w", name, err)
}
