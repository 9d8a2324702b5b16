// Package secret keeps keys and signing secrets out of logs, errors and printed configuration. The
// configuration reads them, the clients of the services use them. A Value prints as *** in every
// way in which Go prints a value, and Loopback tells where one may travel unencrypted.
package secret
