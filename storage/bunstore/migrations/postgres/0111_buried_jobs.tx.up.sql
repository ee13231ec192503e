-- The jobs of an account that were given up.
CREATE INDEX hw_jobs_buried_account ON hw_jobs (account_id, id) WHERE buried;
