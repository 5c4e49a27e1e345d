-- Made after the bulk load of a first build: with the indexes there first, it takes six times as long.
CREATE INDEX IF NOT EXISTS problem_file ON problem(file);
CREATE INDEX IF NOT EXISTS file_revision ON file(revision);
CREATE INDEX IF NOT EXISTS definition_key ON definition(key);
CREATE INDEX IF NOT EXISTS target_key ON target(key);
CREATE INDEX IF NOT EXISTS target_owner ON target(owner);
CREATE INDEX IF NOT EXISTS reference_key ON reference(key);
CREATE INDEX IF NOT EXISTS exact_body_usr ON exact_body(usr);
CREATE INDEX IF NOT EXISTS exact_reference_body ON exact_reference(body);
CREATE INDEX IF NOT EXISTS exact_reference_usr ON exact_reference(usr) WHERE file >= 0;
CREATE INDEX IF NOT EXISTS exact_reference_place ON exact_reference(file, key) WHERE file >= 0;
-- A class's subclasses and holders, without the thousand places that make one. selects.py repeats the condition.
CREATE INDEX IF NOT EXISTS reference_class ON reference(key) WHERE kind IN ('base','holds');
-- The few kinds that queries ask for as a whole: a small index over a small part of the table.
-- selects.py repeats the condition word for word, or SQLite does not use it.
CREATE INDEX IF NOT EXISTS definition_kind ON definition(kind, key)
  WHERE kind IN ('operator','schema','derivative','stub','stub_kernel','library','kernel','registry');
