package transport

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// buriedJob as the API shows it.
type buriedJob struct {
	ID       int64  `json:"id"`
	Kind     string `json:"kind" description:"What was to be done." example:"mail.send"`
	Subject  int64  `json:"subject" description:"Id of what it is about, of which the kind says what that is: of mail.send an interaction, of webhook.send a webhook."`
	Attempts int    `json:"attempts" description:"How often it was tried."`
	Reason   string `json:"reason" description:"Why it was given up."`
	RunAt    Time   `json:"run_at" description:"When it was due."`
}

type buriedJobList struct {
	Paging
	Kind string `query:"kind" description:"Such as mail.send."`
}

type jobID struct {
	JobID int64 `path:"job_id"`
}

const (
	buriedJobsPath = accountPath + "/buried-jobs"
	buriedJobPath  = buriedJobsPath + "/{job_id}"
)

func (a *api) addBuriedJobs(t *Table) {
	op := func(id, method, path, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "Accounts", Summary: summary, Description: description}
	}
	HandlePage(t, a.desk, op("listBuriedJobs", http.MethodGet, buriedJobsPath, "List jobs that were given up",
		"What the server does by itself is a job; one that cannot succeed is given up, and a person decides about it. Newest first. Needs accounts.update."),
		func(ctx context.Context, d *helpdesk.Desk, in buriedJobList) (storage.Page[buriedJob], error) {
			page, err := d.BuriedJobs(ctx, helpdesk.BuriedJobFilter{Kind: in.Kind}, in.Request())
			return mapPage(page, showBuriedJob), err
		})
	HandleEmpty(t, a.desk, op("retryBuriedJob", http.MethodPost, buriedJobPath+"/retry", "Retry a job that was given up",
		"It is due at once, as if it had not failed before. 409 while another job waits or runs that does the same. Needs accounts.update."),
		func(ctx context.Context, d *helpdesk.Desk, in jobID) error { return d.RetryJob(ctx, in.JobID) })
	HandleEmpty(t, a.desk, op("dropBuriedJob", http.MethodDelete, buriedJobPath, "Drop a job that was given up",
		"It is never done. Needs accounts.update."),
		func(ctx context.Context, d *helpdesk.Desk, in jobID) error { return d.DropJob(ctx, in.JobID) })
}

func showBuriedJob(j storage.BuriedJob) buriedJob {
	return buriedJob{ID: j.ID, Kind: j.Kind, Subject: j.Subject, Attempts: j.Attempt, Reason: j.Reason, RunAt: Time(j.RunAt)}
}
