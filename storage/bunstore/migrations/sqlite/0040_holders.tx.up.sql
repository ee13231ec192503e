-- Who has claimed a job: a process that can be asked whether it lives.
ALTER TABLE hw_jobs ADD COLUMN holder TEXT NOT NULL DEFAULT '';
--bun:split
CREATE INDEX hw_jobs_holder ON hw_jobs (holder) WHERE holder <> '';
