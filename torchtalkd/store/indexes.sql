-- Made after the bulk load of a first build: with the indexes there first, it takes six times as long.
CREATE INDEX IF NOT EXISTS problem_file ON problem(file);
CREATE INDEX IF NOT EXISTS file_revision ON file(revision);
CREATE INDEX IF NOT EXISTS definition_key ON definition(key);
CREATE INDEX IF NOT EXISTS target_key ON target(key);
CREATE INDEX IF NOT EXISTS target_owner ON target(owner);
CREATE INDEX IF NOT EXISTS reference_key ON reference(key);
-- The few kinds that queries ask for as a whole: a small index over a small part of the table.
-- selects.py repeats the condition word for word, or SQLite does not use it.
CREATE INDEX IF NOT EXISTS definition_kind ON definition(kind, key)
  WHERE kind IN ('operator','schema','derivative','stub','stub_kernel','library','kernel','registry');
