-- The migrator of earlier releases made this table, and nothing used it.
DROP TABLE IF EXISTS hw_migration_locks;
