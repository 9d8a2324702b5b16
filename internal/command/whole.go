package command

import (
	"errors"
	"strconv"

	"github.com/spf13/pflag"
)

// whole is the value of a flag that takes a whole number in decimal. The flags of pflag itself read
// 010 as 8.
type whole[N int | int64] struct{ n *N }

// AddWhole adds a flag for a whole number.
func AddWhole[N int | int64](flags *pflag.FlagSet, n *N, name string, value N, usage string) {
	*n = value
	flags.Var(whole[N]{n}, name, usage)
}

func (w whole[N]) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, strconv.IntSize)
	if err != nil || len(s) > 1 && s[0] == '0' {
		return errors.New("want a whole number without a leading 0")
	}
	*w.n = N(n)
	return nil
}

func (w whole[N]) String() string {
	if w.n == nil {
		return "0"
	}
	return strconv.FormatInt(int64(*w.n), 10)
}

// Type is the word that stands for the value in the help.
func (w whole[N]) Type() string { return "int" }
