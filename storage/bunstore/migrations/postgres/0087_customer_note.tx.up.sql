-- What the team notes about a customer.
ALTER TABLE hw_customers ADD COLUMN note TEXT NOT NULL DEFAULT '';
