-- What became of a job's attempts: how many failed by themselves, how many in a row met an outage, and the last whose
-- result is known.
ALTER TABLE hw_jobs ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;
--bun:split
ALTER TABLE hw_jobs ADD COLUMN away INTEGER NOT NULL DEFAULT 0;
--bun:split
ALTER TABLE hw_jobs ADD COLUMN settled INTEGER NOT NULL DEFAULT 0;
--bun:split
UPDATE hw_jobs SET settled = CASE WHEN lease_until = -62135596800000000 THEN attempt ELSE attempt - 1 END WHERE attempt > 0;
