-- The span that enqueued a job, by its traceparent.
ALTER TABLE hw_jobs ADD COLUMN trace TEXT NOT NULL DEFAULT '';
