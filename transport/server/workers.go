package server

import (
	"maps"
	"net/url"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/netguard"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/webhook"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/jobs"
	"github.com/helpwright/helpwright/transport/desk"
)

// lease is longer than a typical outage of the database, as the jobs of a live process must not run in another one, too. If
// the store is a [storage.Processes], it detects dead processes and gives their jobs to others at once.
const lease = 10 * time.Minute

// makeWorkers makes the parts that run jobs. A server without a relay can be made, too: it serves, but Run fails.
func (s *Server) makeWorkers() error {
	cfg := s.cfg.Webhooks
	cfg.Dispatch = s.service.Dispatch()
	fill(&cfg.Dial, netguard.Dialer(s.cfg.AllowPrivateHosts, dialTimeout))
	hooks, err := webhook.New(cfg)
	if err != nil {
		return err
	}
	runner, err := s.runner(hooks)
	if err != nil && s.cfg.Relay == nil {
		s.idle = err
		return nil
	}
	if err != nil {
		return err
	}
	s.workers = []part{{"jobs", runner.Run}, {"webhooks", hooks.Run}, {"marks", s.service.Run}}
	if s.kb != nil {
		s.workers = append(s.workers, part{"views", s.kb.Run})
	}
	if s.errands != nil {
		s.workers = append(s.workers, part{"errands", s.errands.Run})
	}
	s.workers = append(s.workers, part{"tidying", s.scheduleSweeps})
	return nil
}

// runner runs all kinds of jobs. Few jobs are given up because they failed often, as the cause may be an outage; the
// services decide when to give up.
func (s *Server) runner(hooks *webhook.Sender) (*jobs.Runner, error) {
	again, err := ingest.NewAgain(ingest.AgainConfig{Intake: s.service.Intake(), Servers: s.servers, Logger: s.cfg.Logger})
	if err != nil {
		return nil, err
	}
	filing := s.cfg.Filing
	filing.Intake = s.service.Intake()
	filer, err := ingest.NewFiler(filing)
	if err != nil {
		return nil, err
	}
	handlers := map[string]jobs.Handler{
		helpdesk.JobRefetchMail: {Func: again.Refetch, Workers: 2, MaxAttempts: 10},
		helpdesk.JobBackfill:    {Func: again.Backfill, Workers: 2, MaxAttempts: 20},
		helpdesk.JobReplayMail:  {Func: s.service.Jobs().ReplayMails, Workers: 2, MaxAttempts: 20},
		helpdesk.JobFileMail:    {Func: filer.Handle, Workers: 4},
		helpdesk.JobPurgeBlobs:  {Func: s.service.Jobs().PurgeBlobs, Workers: 1},
		helpdesk.JobUnassign:    {Func: s.service.Jobs().Unassign, Workers: 1},
		helpdesk.JobDisband:     {Func: s.service.Jobs().Disband, Workers: 1},
		helpdesk.JobHandOut:     {Func: s.service.Jobs().HandOut, Workers: 2},
		helpdesk.JobAutoReply:   {Func: s.service.Jobs().AutoReply, Workers: 2},
		helpdesk.JobRules:       {Func: s.service.Jobs().RunRules, Workers: 2},
		helpdesk.JobSLA:         {Func: s.service.Jobs().TellDue, Workers: 2},
		helpdesk.JobAskRating:   {Func: s.service.Jobs().AskRating, Workers: 2},
		helpdesk.JobRetention:   {Func: s.service.Jobs().Retain, Workers: 1},
		helpdesk.JobFacts:       {Func: s.service.Jobs().FoldFacts, Workers: 1},
		helpdesk.JobMeasure:     {Func: s.service.Jobs().MeasureAll, Workers: 1},
		helpdesk.JobReplay:      {Func: s.service.Jobs().ReplayRule, Workers: 1},
		helpdesk.JobRuleClock:   {Func: s.service.Jobs().TickRule, Workers: 1},
		helpdesk.JobWake:        {Func: s.service.Jobs().Wake, Workers: 1},

		helpdesk.JobIndexCustomer: {Func: s.service.Jobs().IndexCustomer, Workers: 1},
		helpdesk.JobCompany:       {Func: s.service.Jobs().SettleCompany, Workers: 1},
		helpdesk.JobNotify:        {Func: s.service.Jobs().Notify, Workers: 2},
		helpdesk.JobPush:          {Func: s.service.Jobs().Push, Workers: 8}, // most of the time they wait for push services

		helpdesk.JobMailNotifications: {Func: s.service.Jobs().MailNotifications, Workers: 2},
		helpdesk.JobWebhook:           {Func: hooks.Handle, Workers: 32}, // most of the time they wait for receivers
	}
	handlers[helpdesk.JobPruneNotifications] = jobs.Handler{Func: s.service.Jobs().PruneNotifications, Workers: 1}
	kinds := helpdesk.JobKinds()
	if s.kb != nil {
		handlers[kb.JobPurgeFiles] = jobs.Handler{Func: s.kb.PurgeFiles, Workers: 1}
		kinds = append(kinds, kb.JobKinds()...)
	}
	handlers[jobPrune] = jobs.Handler{Func: s.prune, Workers: 1}
	if s.rows != nil {
		handlers[jobSweepBlobs] = jobs.Handler{Func: s.sweepBlobs, Workers: 1}
	}
	if s.cfg.Relay != nil {
		sending, err := s.senders()
		if err != nil {
			return nil, err
		}
		maps.Copy(handlers, sending)
	}
	cfg := s.cfg.Jobs
	maps.Copy(handlers, cfg.Handlers)
	cfg.Handlers = handlers
	cfg.Kinds = append(kinds, cfg.Kinds...)
	fill(&cfg.Lease, lease)
	if s.tie != nil {
		fill(&cfg.Hold, s.tie.Err)
	}
	return jobs.New(cfg)
}

// mailLinks are the addresses of the pages to which the system's mails link.
func (s *Server) mailLinks() sending.MailLinks {
	links := sending.MailLinks{
		Invitation:    func(token string) string { return s.cfg.BaseURL + invitations + token },
		Conversation:  func(account, id int64) string { return s.deskURL("/a/%d/c/%d", account, id) },
		Mailbox:       func(account, id int64) string { return s.deskURL("/a/%d/settings/mailboxes/%d", account, id) },
		Notifications: func(account int64) string { return s.deskURL("/a/%d/settings/notifications", account) },
		Password:      func(token string) string { return s.deskURL("/reset?token=%s", url.QueryEscape(token)) },
	}
	if s.hasDesk() && s.cfg.Authenticate == nil && s.cfg.Agents.Authenticate == nil {
		links.Forgotten = func() string { return s.deskURL("/forgot") }
	}
	return links
}

// senders handle the jobs that send mail.
func (s *Server) senders() (map[string]jobs.Handler, error) {
	cfg := s.cfg.Sending
	cfg.Outgoing = s.service.Outgoing()
	fill(&cfg.Transport, s.cfg.Relay)
	fill(&cfg.SeenURL, func(token string) string { return s.APIURL() + "/seen/" + token })
	if s.hasDesk() {
		fill(&cfg.RatingURL, func(token string) string { return s.deskURL("/rate/%s", token) })
		fill(&cfg.RatingWords, desk.RatingWords)
	}
	relay := cfg.Transport
	cfg.Transport = outbound.Traced(relay, s.cfg.Tracer)
	fill(&cfg.Relays, s.relays)
	sender, err := outbound.New(cfg)
	if err != nil {
		return nil, err
	}
	mailer, err := outbound.NewMailer(outbound.MailerConfig{
		Outgoing: cfg.Outgoing, Transport: relay, Relays: cfg.Relays, Logger: s.cfg.Logger, Links: s.mailLinks(),
	})
	if err != nil {
		return nil, err
	}
	handlers := map[string]jobs.Handler{helpdesk.JobSendMail: {Func: sender.Handle, Workers: 32}}
	for _, kind := range helpdesk.SystemMailKinds() {
		handlers[kind] = jobs.Handler{Func: mailer.Handle, Workers: 2}
	}
	return handlers, nil
}
