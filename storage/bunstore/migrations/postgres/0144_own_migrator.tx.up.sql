-- A lock of the migrator of earlier releases, which nobody took.
DROP TABLE IF EXISTS hw_migration_locks;
