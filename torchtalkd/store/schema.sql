-- The index of one root: facts, each owned by the file it was read from. No row could be
-- computed from several others (invariant: facts only).
--
-- id of a definition, reference or target = file << 20 | ordinal, so that one file's rows
-- are one range of each table and a replacement deletes by range.

CREATE TABLE meta (          -- format, root, harness, revision, rules (JSON), complete, …
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE file (
  id       INTEGER PRIMARY KEY,
  path     TEXT NOT NULL UNIQUE,
  language TEXT NOT NULL,
  role     TEXT NOT NULL,
  size     INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  read_ns  INTEGER NOT NULL,     -- wall clock when its bytes were read: see "suspects"
  inode    INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL,     -- also moves where a tool puts size and mtime back
  digest   TEXT NOT NULL,        -- of the bytes; '' where the file could not be read
  recipe   TEXT NOT NULL,        -- of the parser and the conventions that made the facts
  revision INTEGER NOT NULL      -- in which its facts were put there: see carry.py
) STRICT;

CREATE TABLE problem (
  file    INTEGER NOT NULL,
  line    INTEGER NOT NULL,
  kind    TEXT NOT NULL,
  message TEXT NOT NULL
) STRICT;

CREATE TABLE definition (
  id           INTEGER PRIMARY KEY,
  key          TEXT NOT NULL,
  name         TEXT NOT NULL,
  kind         TEXT NOT NULL,
  line         INTEGER NOT NULL,
  col          INTEGER NOT NULL,
  end_line     INTEGER NOT NULL,
  scope        INTEGER NOT NULL, -- ordinal, -1: none
  flags        INTEGER NOT NULL, -- 1 declares, 2 local
  signature    TEXT NOT NULL,
  dispatch_key TEXT NOT NULL,
  convention   TEXT NOT NULL,
  guard        TEXT NOT NULL,
  detail       TEXT,             -- JSON object
  body         INTEGER NOT NULL  -- digest of its lines, 0: nothing that a compiler sees code in
) STRICT;

CREATE TABLE target (            -- a binding's references, one row each
  id      INTEGER PRIMARY KEY,
  owner   INTEGER NOT NULL,      -- id of the binding's definition
  key     TEXT NOT NULL,
  name    TEXT NOT NULL,
  kind    TEXT NOT NULL,
  line    INTEGER NOT NULL,
  col     INTEGER NOT NULL
) STRICT;

CREATE TABLE reference (         -- all other references: one row for a name in a file
  id    INTEGER PRIMARY KEY,
  key   TEXT NOT NULL,
  name  TEXT NOT NULL,
  kind  TEXT NOT NULL,
  sites BLOB NOT NULL            -- little-endian uint32 triples: line, column, (owner+1) << 8 | arguments+1
) STRICT;

-- What a compiler reads of a file's bodies (exact_view.py says when it is true). Each row belongs to the file
-- whose bodies these are, and stays when the file's own facts are replaced.

CREATE TABLE exact_unit (
  file     INTEGER PRIMARY KEY,
  recipe   TEXT NOT NULL,        -- of the arguments and of what reads
  digest   TEXT NOT NULL,        -- of the file's bytes when it was read
  closure  TEXT NOT NULL,        -- of the paths and digests of all files that it may include
  files    BLOB NOT NULL,        -- those files but itself: bit n (little-endian) is the file of id n
  revision INTEGER NOT NULL,     -- in which all of these were as they were read
  counts   TEXT NOT NULL         -- JSON object: what was resolved, what not, the errors
) STRICT;

CREATE TABLE exact_body (
  id        INTEGER PRIMARY KEY,
  key       TEXT NOT NULL,       -- of the definition whose body it is, as are name, signature and digest
  name      TEXT NOT NULL,
  signature TEXT NOT NULL,
  digest    INTEGER NOT NULL,
  nth       INTEGER NOT NULL,    -- of the definitions in the file with this key and digest, from 0
  same      INTEGER NOT NULL,    -- how many these are
  usr       INTEGER NOT NULL,
  line      INTEGER NOT NULL     -- of the definition when it was read
) STRICT;

CREATE TABLE exact_reference (   -- one row for a target of a body
  id    INTEGER PRIMARY KEY,
  body  INTEGER NOT NULL,        -- id
  usr   INTEGER NOT NULL,
  key   TEXT NOT NULL,
  name  TEXT NOT NULL,
  file  INTEGER NOT NULL,        -- of the declaration seen; -1 outside of the tree
  line  INTEGER NOT NULL,
  sites BLOB NOT NULL            -- little-endian uint32 triples: line from the body's, column, kind
) STRICT;
