; What is read from a Python file, as one query: a second query costs a second walk of the tree.
; The order of the patterns is known to parse/python_tree.py (`Pattern`), and of a name of a capture the
; first letter (`parse.query_text`).

; 0-2: definitions
(function_definition name: (identifier) @name parameters: (parameters) @parameters) @body
(class_definition name: (identifier) @name) @body
(class_definition superclasses: (argument_list) @bases)
; 3: decorators stand before what they decorate
(decorator (_) @decorator)
; 4-6: imports, one match for each imported name
(import_statement name: (_) @name)
(import_from_statement module_name: (_) @module name: (_) @name)
(import_from_statement module_name: (_) @module (wildcard_import) @star)
; 7: what only Python 2 has
[(print_statement) (exec_statement)] @node
; 8-9: names that are bound
[
  (assignment left: (identifier) @name)
  (for_statement left: (identifier) @name)
  (as_pattern_target (identifier) @name)
]
(augmented_assignment left: (identifier) @name)

; 10-12: calls. The arguments are not asked for: a match would stay open until they come, and all
; that are open are tried with each node, so that 20,000 calls within each other took minutes.
(call function: (identifier) @callee)
(call function: (attribute) @callee)
(call function: (subscript value: [(identifier) (attribute) (call)] @callee))
; 13: a plain or dotted name where its value is kept or given: in tables, defaults, assignments,
; decorators, arguments, returned. (Each match costs a microsecond, and most values are those of local
; variables. A name in a comparison is no reference.)
[
  (keyword_argument value: [(identifier) (attribute)] @value)
  (assignment right: [(identifier) (attribute)] @value)
  (argument_list (attribute) @value)
  (default_parameter value: (attribute) @value)
  (typed_default_parameter value: (attribute) @value)
  (decorator [(identifier) (attribute)] @value)
  (return_statement [(identifier) (attribute)] @value)
  (list [(identifier) (attribute)] @value)
  (tuple [(identifier) (attribute)] @value)
  (set [(identifier) (attribute)] @value)
  (pair key: (attribute) @value)
  (pair value: [(identifier) (attribute)] @value)
]
; 14: a plain name that is passed on. Not in tests, where it would be a third of all matches: what they
; pass on they have imported.
(argument_list (identifier) @value)
