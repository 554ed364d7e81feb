// DNS for the local cluster: CoreDNS with the few plugins that Services need. Its own program has all plugins, and with
// them the libraries of three clouds.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() {
	dnsserver.Directives = []string{"errors", "kubernetes"}
	coremain.Run()
}
