package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// buriedJob as the API shows it.
type buriedJob struct {
	ID       int64          `json:"id"`
	Kind     string         `json:"kind" description:"Kind of the job." example:"mail.send"`
	Subject  int64          `json:"subject" description:"Id of its subject, depending on the kind: an interaction for mail.send, a webhook for webhook.send."`
	Attempts int            `json:"attempts" description:"Number of attempts."`
	Reason   string         `json:"reason" description:"Why it failed for good."`
	RunAt    transport.Time `json:"run_at" description:"When it was due."`
}

type buriedJobList struct {
	transport.Paging
	Kind string `query:"kind" description:"Such as mail.send."`
}

type jobID struct {
	JobID int64 `path:"job_id"`
}

const (
	buriedJobsPath = accountPath + "/buried-jobs"
	buriedJobPath  = buriedJobsPath + "/{job_id}"
)

func (a *api) addBuriedJobs(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Accounts", Summary: summary, Description: description}
	}
	transport.HandlePage(t, a.desk, op("listBuriedJobs", http.MethodGet, buriedJobsPath, "List failed jobs",
		"Jobs are the server's background work. A job that keeps failing is given up and waits for a decision. Newest first. Needs accounts.update."),
		func(ctx context.Context, d *helpdesk.Desk, in buriedJobList) (storage.Page[buriedJob], error) {
			page, err := d.BuriedJobs(ctx, helpdesk.BuriedJobFilter{Kind: in.Kind}, in.Request())
			return mapPage(page, showBuriedJob), err
		})
	transport.HandleEmpty(t, a.desk, op("retryBuriedJob", http.MethodPost, buriedJobPath+"/retry", "Retry a failed job",
		"The job becomes due at once, as if it had never failed. 409 while a job with the same work is waiting or running. Needs accounts.update."),
		func(ctx context.Context, d *helpdesk.Desk, in jobID) error { return d.RetryJob(ctx, in.JobID) })
	transport.HandleEmpty(t, a.desk, op("dropBuriedJob", http.MethodDelete, buriedJobPath, "Drop a failed job",
		"The job will never run. Needs accounts.update."),
		func(ctx context.Context, d *helpdesk.Desk, in jobID) error { return d.DropJob(ctx, in.JobID) })
}

func showBuriedJob(j storage.BuriedJob) buriedJob {
	return buriedJob{ID: j.ID, Kind: j.Kind, Subject: j.Subject, Attempts: j.Attempt, Reason: j.Reason, RunAt: transport.Time(j.RunAt)}
}
