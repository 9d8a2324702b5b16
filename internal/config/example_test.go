package config_test

import (
	"fmt"

	"campaignd/internal/config"
)

// The defaults apply without a file. Every key can also be given as an environment variable. The
// error of a faulty value names its variable or line, and the remedy.
func ExampleLoad() {
	environment := map[string]string{
		"CAMPAIGND_LEDGER":        "sqlite:/var/lib/campaignd/spring.db",
		"CAMPAIGND_LISTEN_PUBLIC": ":9000",
	}
	c, err := config.Load("absent.yaml", false, environment)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Ledger, c.Listen.Public, c.Service.Timeout)

	environment["CAMPAIGND_SERVICE_TIMEOUT"] = "soon"
	_, err = config.Load("absent.yaml", false, environment)
	fmt.Println(err)
	// Output:
	// sqlite:/var/lib/campaignd/spring.db :9000 10s
	// CAMPAIGND_SERVICE_TIMEOUT in the environment: want a duration such as 10s, 15m or 24h
}
