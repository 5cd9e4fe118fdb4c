/** The language's published conformance cases, all but those named here. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tests } from '@bufbuild/cel-spec/testdata/conformance.js';
import { casesOf, needsMessages, runCase } from './conformance.fixture.ts';
import { twoVariableComprehensions } from './library/comprehensions.ts';
import { optionalValues } from './library/optionals.ts';

/** Files of cases that ask for what Kubernetes' expressions do not have, and why. */
const excludedFiles: Readonly<Record<string, string>> = {
  proto2: 'messages of protocol buffers',
  proto2_ext: 'messages of protocol buffers',
  proto3: 'messages of protocol buffers',
  enums: 'enumerations of protocol buffers',
  wrappers: 'wrapper messages of protocol buffers',
  dynamic: 'conversions of protocol buffers to dynamic values',
  bindings_ext: 'cel.bind, which Kubernetes does not enable',
  block_ext: 'cel.block, which only optimizers write',
  encoders_ext: 'base64, which Kubernetes does not enable',
  math_ext: 'math.greatest and its kin, which Kubernetes does not enable',
  string_ext: 'a later version of the library than Kubernetes has',
};

/** Cases that Kubernetes' settings make fail, by the setting. */
const excludedCases: Readonly<Record<string, readonly string[]>> = {
  'elements of a list, keys of a map and values of a map are of one type each': [
    'comparisons/eq_literal/not_eq_list_null',
    'comparisons/eq_literal/eq_list_mixed_type_numbers',
    'comparisons/eq_literal/not_eq_list_mixed_type_numbers',
    'comparisons/eq_literal/not_eq_list_false_vs_types',
    'comparisons/eq_literal/not_eq_map_null',
    'comparisons/eq_literal/eq_map_mixed_type_numbers',
    'comparisons/eq_literal/not_eq_map_false_vs_types',
    'comparisons/eq_literal/eq_map_value_mixed_types',
    'comparisons/eq_literal/not_eq_list_elem_null',
    'comparisons/eq_literal/not_eq_map_value_null',
    'comparisons/in_list_literal/elem_in_mixed_type_list',
    'comparisons/in_list_literal/elem_in_mixed_type_list_cross_type',
    'comparisons/in_map_literal/key_in_mixed_key_type_map',
    'comparisons/in_map_literal/key_in_mixed_key_type_map_cross_type',
    'conversions/dyn/dyn_heterogeneous_list',
    'fields/map_fields/map_key_int64',
    'fields/map_fields/map_key_uint64',
    'fields/map_fields/map_key_mixed_type',
    'fields/map_fields/map_key_mixed_numbers_double_key',
    'fields/map_fields/map_key_mixed_numbers_uint_key',
    'fields/map_fields/map_key_mixed_numbers_int_key',
    'fields/map_fields/map_value_mix_type',
    'fields/in/mixed_numbers_and_keys_present',
    'fields/in/mixed_numbers_and_keys_absent',
    'macros/exists/list_elem_type_shortcircuit',
    'macros/exists/list_elem_type_exhaustive',
    'macros/exists/map_key_type_shortcircuit',
    'macros/exists/map_key_type_exhaustive',
    'macros/all/list_elem_type_shortcircuit',
    'plumbing/check_inputs/skip_check',
    'macros2/exists/list_elem_type_shortcircuit',
    'macros2/exists/list_elem_type_exhaustive',
    'macros2/exists/map_key_type_shortcircuit',
    'macros2/exists/map_key_type_exhaustive',
    'macros2/all/list_elem_type_shortcircuit',
    'macros2/all/list_elem_type_exhaustive',
    'optionals/optionals/optional_chaining_13',
    'optionals/optionals/map_key_mixed_type_optindex_value',
    'optionals/optionals/map_key_mixed_numbers_double_key_optindex_value',
    'optionals/optionals/map_key_mixed_numbers_uint_key_optindex_value',
    'optionals/optionals/map_key_mixed_numbers_int_key_optindex_value',
  ],
  'expressions are always type-checked': [
    'basic/variables/unbound_is_runtime_error',
    'basic/functions/unbound_is_runtime_error',
    'comparisons/eq_literal/not_eq_list_length',
    'comparisons/eq_literal/eq_mixed_types',
    'comparisons/eq_literal/eq_list_elem_mixed_types',
    'comparisons/ne_literal/ne_mixed_types',
    'logic/conditional/mixed_type',
    'logic/AND/short_circuit_type_left',
    'logic/AND/short_circuit_type_right',
    'logic/OR/short_circuit_type_left',
    'logic/OR/short_circuit_type_right',
    ...'as break const continue else for function if import let loop package namespace return var void while'
      .split(' ')
      .map((word) => `parse/receiver_function_names/${word}`),
  ],
  'names in backquotes are not enabled': [
    'fields/quoted_map_fields/field_access_slash',
    'fields/quoted_map_fields/field_access_dash',
    'fields/quoted_map_fields/field_access_dot',
    'fields/quoted_map_fields/has_field_slash',
    'fields/quoted_map_fields/has_field_dash',
    'fields/quoted_map_fields/has_field_dot',
  ],
  'names are not looked up in a container': [
    'namespace/namespace/self_eval_container_lookup',
    'namespace/namespace/self_eval_container_lookup_unchecked',
  ],
  'the last of repeated keys counts, as in the implementation that Kubernetes uses': [
    'fields/qualified_identifier_resolution/map_value_repeat_key',
  ],
  'a null beside an optional makes a list of nulls, as in the implementation that Kubernetes uses': [
    'type_deductions/legacy_nullable_types/null_assignable_to_abstract_parameter_candidate',
  ],
  'what is asked for of a scalar is absent, not an error': [
    'optionals/optionals/map_null_entry_no_such_key',
    'optionals/optionals/map_present_key_invalid_field',
  ],
};

const libraries = [optionalValues, twoVariableComprehensions];

const fileOf = (name: string) => name.slice(0, name.indexOf('/'));
const cases = casesOf(tests).filter(({ name }) => !Object.hasOwn(excludedFiles, fileOf(name)));
const excluded = new Set(Object.values(excludedCases).flat());
const applicable = cases.filter((conformanceCase) => !needsMessages(conformanceCase));

for (const file of new Set(applicable.map(({ name }) => fileOf(name)))) {
  test(`conformance: ${file}`, () => {
    for (const conformanceCase of applicable) {
      const { name, expression } = conformanceCase;
      if (fileOf(name) !== file || excluded.has(name)) continue;
      assert.doesNotThrow(() => runCase(conformanceCase, libraries), `${name}: ${expression}`);
    }
  });
}

test('what is excluded does fail, and is no more than that', () => {
  const passing = applicable.filter((conformanceCase) => {
    if (!excluded.has(conformanceCase.name)) return false;
    try {
      runCase(conformanceCase, libraries);
      return true;
    } catch {
      return false;
    }
  });
  assert.deepEqual(passing, []);
  const known = new Set(applicable.map(({ name }) => name));
  assert.deepEqual(
    [...excluded].filter((name) => !known.has(name)),
    [],
  );
  assert.equal(cases.length - applicable.length, 131, 'cases that need messages of protocol buffers');
});
