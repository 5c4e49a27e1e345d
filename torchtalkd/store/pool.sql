-- Named copies of databases, cut in the pages that SQLite makes them of: what several have in common is
-- kept once. New pages are compressed in blocks of up to 32, in the order in which they were met.
--
-- id of a page = block << 5 | its place in the block.

CREATE TABLE copy (
  id    INTEGER PRIMARY KEY,
  name  TEXT NOT NULL UNIQUE,
  about TEXT NOT NULL,           -- JSON object; the pool does not look into it
  bytes INTEGER NOT NULL,        -- of the database
  added INTEGER NOT NULL         -- bytes that the pool grew by for it
) STRICT;

CREATE TABLE list (              -- apart from `copy`, so that the names alone are quick to read
  copy  INTEGER PRIMARY KEY,
  size  INTEGER NOT NULL,        -- bytes of a page
  pages BLOB NOT NULL            -- compressed little-endian int64: each page's id less the one before
) STRICT;

CREATE TABLE block (
  id   INTEGER PRIMARY KEY,
  size INTEGER NOT NULL,         -- bytes of each of its pages
  data BLOB NOT NULL             -- its pages, compressed
) STRICT;

CREATE TABLE page (
  digest BLOB PRIMARY KEY,
  id     INTEGER NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;
