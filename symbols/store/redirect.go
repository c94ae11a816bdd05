package store

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

// storesOf are the hosts that well-known servers of symbols have their files at, by the ends of their names. Without them every
// user had to name hosts whose names change.
var storesOf = map[string][]string{
	"msdl.microsoft.com":  {".blob.core.windows.net"},
	"symbols.nuget.org":   {".blob.core.windows.net"},
	"symbols.mozilla.org": {"storage.googleapis.com", ".amazonaws.com"},
}

// mayLeadTo reports whether a server may redirect to a place: on the same host and port, or to what belongs to it, or to
// another server that the user has named. Otherwise a server could have this machine ask others for it, that it cannot reach itself.
func (f *Finder) mayLeadTo(from, to *url.URL) bool {
	if strings.EqualFold(from.Host, to.Host) {
		return true
	}
	asked, host := strings.ToLower(from.Hostname()), strings.ToLower(to.Hostname())
	if usual := to.Port() == "" || to.Port() == "443"; usual && to.Scheme == "https" {
		if asked == host || net.ParseIP(host) == nil && strings.HasSuffix(host, "."+asked) {
			return true
		}
		for _, end := range storesOf[asked] {
			if host == end || strings.HasPrefix(end, ".") && strings.HasSuffix(host, end) {
				return true
			}
		}
	}
	return slices.ContainsFunc(f.servers, func(s *server) bool { return strings.EqualFold(s.base.Host, to.Host) })
}
