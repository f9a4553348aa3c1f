// Command nameserver is the DNS server of the tests: authoritative for every name, changed over HTTP by the test and by signed
// dynamic updates (RFC 2136, RFC 8945) by the product. It answers only for names that have a record.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

type server struct {
	zones   []string
	mu      sync.Mutex
	records map[string][]dns.RR
	// Number of updates that were accepted, and of values that they removed.
	updates, removals int
	// Time for which new values are not shown, as on a slow secondary server.
	hideFor time.Duration
	shownAt map[string]time.Time
}

func main() {
	listen := flag.String("dns", "127.0.0.1:0", "address for DNS")
	management := flag.String("management", "127.0.0.1:0", "address for the test")
	zones := flag.String("zones", "example.test.", "zones that take updates, by commas")
	keyName := flag.String("key", "fairlead.", "name of the update key")
	secret := flag.String("secret", "", "update key, base64")
	flag.Parse()
	s := &server{zones: strings.Split(*zones, ","), records: map[string][]dns.RR{}, shownAt: map[string]time.Time{}}
	dns.HandleFunc(".", s.answer)
	secrets := map[string]string{*keyName: *secret}
	for _, network := range []string{"udp", "tcp"} {
		each := &dns.Server{Addr: *listen, Net: network, TsigSecret: secrets}
		each.MsgAcceptFunc = func(header dns.Header) dns.MsgAcceptAction {
			if header.Bits&(1<<15) != 0 {
				return dns.MsgIgnore
			}
			return dns.MsgAccept
		}
		go func() { log.Fatal(each.ListenAndServe()) }()
	}
	http.HandleFunc("/set", s.set)
	http.HandleFunc("/state", s.state)
	log.Fatal(http.ListenAndServe(*management, nil))
}

func (s *server) answer(w dns.ResponseWriter, request *dns.Msg) {
	reply := new(dns.Msg)
	reply.SetReply(request)
	reply.Authoritative = true
	s.mu.Lock()
	if request.Opcode == dns.OpcodeUpdate {
		reply.Rcode = s.update(w, request)
	} else if len(request.Question) == 1 {
		s.query(request.Question[0], reply)
	} else {
		reply.Rcode = dns.RcodeFormatError
	}
	s.mu.Unlock()
	if signature := request.IsTsig(); signature != nil && w.TsigStatus() == nil {
		reply.SetTsig(signature.Hdr.Name, signature.Algorithm, 300, time.Now().Unix())
	}
	if err := w.WriteMsg(reply); err != nil {
		log.Print(err)
	}
}

func (s *server) query(question dns.Question, reply *dns.Msg) {
	name := strings.ToLower(question.Name)
	known := s.records[name]
	if len(known) == 0 {
		reply.Rcode = dns.RcodeNameError
	}
	for _, record := range known {
		// An alias leads to the records of its target, as a resolver follows it.
		if alias, isAlias := record.(*dns.CNAME); isAlias && question.Qtype != dns.TypeCNAME {
			reply.Answer = append(reply.Answer, alias)
			s.query(dns.Question{Name: alias.Target, Qtype: question.Qtype, Qclass: question.Qclass}, reply)
			return
		}
		if record.Header().Rrtype == question.Qtype && !time.Now().Before(s.shownAt[record.String()]) {
			reply.Answer = append(reply.Answer, record)
		}
	}
}

func (s *server) update(w dns.ResponseWriter, request *dns.Msg) int {
	if request.IsTsig() == nil || w.TsigStatus() != nil {
		return dns.RcodeNotAuth
	}
	if len(request.Question) != 1 || !slices.ContainsFunc(s.zones, func(zone string) bool {
		return strings.EqualFold(request.Question[0].Name, zone)
	}) {
		return dns.RcodeNotAuth
	}
	for _, change := range request.Ns {
		name := strings.ToLower(change.Header().Name)
		if !dns.IsSubDomain(request.Question[0].Name, name) {
			return dns.RcodeNotZone
		}
		text, isText := change.(*dns.TXT)
		if !isText || len(text.Txt) == 0 {
			return dns.RcodeRefused
		}
		kept := s.records[name][:0:0]
		for _, record := range s.records[name] {
			same, isText := record.(*dns.TXT)
			if isText && strings.Join(same.Txt, "") == strings.Join(text.Txt, "") {
				s.removals++
				continue
			}
			kept = append(kept, record)
		}
		if change.Header().Class == dns.ClassINET {
			text.Hdr.Name = name
			s.shownAt[text.String()] = time.Now().Add(s.hideFor)
			kept = append(kept, text)
		}
		s.records[name] = kept
	}
	s.updates++
	return dns.RcodeSuccess
}

// set replaces all records of a name by lines of a zone file; with none, the name does not exist.
func (s *server) set(w http.ResponseWriter, r *http.Request) {
	var wish struct {
		Name    string
		Records []string
		HideMs  *int
	}
	if err := json.NewDecoder(r.Body).Decode(&wish); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if wish.HideMs != nil {
		s.hideFor = time.Duration(*wish.HideMs) * time.Millisecond
	}
	if wish.Name == "" {
		return
	}
	var records []dns.RR
	for _, line := range wish.Records {
		record, err := dns.NewRR(dns.Fqdn(wish.Name) + " 60 IN " + line)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		records = append(records, record)
	}
	s.records[strings.ToLower(dns.Fqdn(wish.Name))] = records
}

// state tells the TXT records that are left, and the number of updates.
func (s *server) state(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	texts := []string{}
	for name, records := range s.records {
		for _, record := range records {
			if text, isText := record.(*dns.TXT); isText {
				texts = append(texts, name+" "+strings.Join(text.Txt, ""))
			}
		}
	}
	if err := json.NewEncoder(w).Encode(map[string]any{"texts": texts, "updates": s.updates, "removals": s.removals}); err != nil {
		log.Print(err)
	}
}
