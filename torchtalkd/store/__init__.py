"""The facts of one root in SQLite. Nobody else imports sqlite3."""
