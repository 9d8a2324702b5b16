// Package reception is the record of how webhooks were received: when they were taken, which
// secrets verified them, and which lost time may hide some. The sender asks it how long the window
// of a doubt still runs, and intake and doctor what to tell the operator. The ledger keeps the
// record; the rest is pure functions of it.
package reception
