// Package operator is what an operator may ask of a ledger. The commands and the operator's API
// call the same methods of a Session, and print or encode what it returns.
//
// It promises that an action is in the log of actions before it is done, and that the Session of
// one company shows and changes nothing of another.
package operator
