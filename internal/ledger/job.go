package ledger

import "fmt"

// JobError adds the name of the job to an error.
func JobError(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("job %q: %w", name, err)
}
