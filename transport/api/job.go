package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// failedJob as the API shows it.
type failedJob struct {
	ID       int64          `json:"id"`
	Kind     string         `json:"kind" description:"Kind of the job." example:"mail.send"`
	Subject  int64          `json:"subject" description:"Id of its subject, depending on the kind: an interaction for mail.send, a webhook for webhook.send."`
	Attempts int            `json:"attempts" description:"Number of attempts."`
	Reason   string         `json:"reason" description:"Why it failed for good."`
	RunAt    transport.Time `json:"run_at" description:"When it was due."`
}

type failedJobList struct {
	transport.Paging
	Kind string `query:"kind" description:"Such as mail.send."`
}

type jobID struct {
	JobID int64 `path:"job_id"`
}

const (
	failedJobsPath = accountPath + "/buried-jobs"
	failedJobPath  = failedJobsPath + "/{job_id}"
)

func (a *api) addFailedJobs(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Accounts", Summary: summary, Description: description}
	}
	transport.HandlePage(t, a.desk, op("listBuriedJobs", http.MethodGet, failedJobsPath, "List failed jobs",
		"Jobs are the server's background work. A job that keeps failing is given up and waits for a decision. Newest first. Needs accounts.update."),
		func(ctx context.Context, d *helpdesk.Desk, in failedJobList) (storage.Page[failedJob], error) {
			page, err := d.Account().FailedJobs(ctx, helpdesk.FailedJobFilter{Kind: in.Kind}, in.Request())
			return mapPage(page, showFailedJob), err
		})
	transport.HandleEmpty(t, a.desk, op("retryBuriedJob", http.MethodPost, failedJobPath+"/retry", "Retry a failed job",
		"The job becomes due at once, as if it had never failed. 409 while a job with the same work is waiting or running. Needs accounts.update."),
		func(ctx context.Context, d *helpdesk.Desk, in jobID) error {
			return d.Account().RetryJob(ctx, in.JobID)
		})
	transport.HandleEmpty(t, a.desk, op("dropBuriedJob", http.MethodDelete, failedJobPath, "Drop a failed job",
		"The job will never run. Needs accounts.update."),
		func(ctx context.Context, d *helpdesk.Desk, in jobID) error { return d.Account().DropJob(ctx, in.JobID) })
}

func showFailedJob(j storage.FailedJob) failedJob {
	return failedJob{ID: j.ID, Kind: j.Kind, Subject: j.Subject, Attempts: j.Attempt, Reason: j.Reason, RunAt: transport.Time(j.RunAt)}
}
