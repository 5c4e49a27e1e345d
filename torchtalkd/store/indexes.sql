-- Made after the bulk load of a first build: with the indexes there first, it takes six times as long.
CREATE INDEX IF NOT EXISTS problem_file ON problem(file);
CREATE INDEX IF NOT EXISTS file_revision ON file(revision);
CREATE INDEX IF NOT EXISTS definition_key ON definition(key);
CREATE INDEX IF NOT EXISTS target_key ON target(key);
CREATE INDEX IF NOT EXISTS target_owner ON target(owner);
CREATE INDEX IF NOT EXISTS reference_key ON reference(key);
-- A class's subclasses and holders, without the thousand places that make one. selects.py repeats the condition.
CREATE INDEX IF NOT EXISTS reference_class ON reference(key) WHERE kind IN ('base','holds');
