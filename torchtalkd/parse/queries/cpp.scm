; One query for all that is read from a C++, CUDA or Objective-C++ tree: several queries cost
; several walks. The numbers of the patterns are named in parse/cpp_walk.py, in this order; of a
; capture the code has the first letter (`parse.query_text`).
(namespace_definition) @scope
(function_definition declarator: (_) @declarator) @scope
(class_specifier name: (_) @name body: (_)) @scope
(struct_specifier name: (_) @name body: (_)) @scope
(declaration declarator: [(function_declarator) (reference_declarator (function_declarator)) (pointer_declarator declarator: (function_declarator))] @declarator) @scope
(field_declaration declarator: [(function_declarator) (reference_declarator (function_declarator)) (pointer_declarator declarator: (function_declarator))] @declarator) @scope
(call_expression function: [(identifier) (qualified_identifier) (template_function)] @name arguments: (argument_list) @arguments)
(call_expression function: (field_expression field: (_) @name) arguments: (argument_list) @arguments)
(pointer_expression operator: "&" argument: [(identifier) (qualified_identifier) (template_function)] @name)
(new_expression type: (_) @name arguments: (argument_list) @arguments)
(declaration type: [(type_identifier) (qualified_identifier) (template_type)] @name declarator: (init_declarator declarator: (identifier) @declarator value: [(argument_list) (initializer_list)] @arguments)) @scope
(init_declarator declarator: (array_declarator declarator: (identifier) @name) value: (initializer_list) @arguments)
(declaration declarator: (init_declarator declarator: [(function_declarator) (reference_declarator (function_declarator)) (pointer_declarator declarator: (function_declarator))] @declarator value: (initializer_list))) @scope
(declaration type: [(type_identifier) (qualified_identifier) (template_type)] @name declarator: (identifier) @declarator) @scope
(field_initializer [(field_identifier) (qualified_identifier) (template_method)] @name (argument_list) @arguments)
(namespace_alias_definition name: (_) @name [(namespace_identifier) (nested_namespace_specifier)] @scope)
(declaration type: (template_type) @name declarator: (parenthesized_declarator (function_declarator declarator: (identifier) @declarator parameters: (_) @arguments))) @scope
