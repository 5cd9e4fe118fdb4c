/** Patches that are no patches, or do not fit what they are applied to. */

import { jsonPatch, mergePatch, strategicPatch } from '../wire.ts';
import { bad, collection, invalid, type Mistake, notFound, patch, scheme } from './mistake.ts';

const nonsense = (problem: string, shown = '"\\{.*\\}"') =>
  new RegExp(`^ "" is invalid: patch: Invalid value: ${shown}: ${problem}$`);
const doesNotApply = {
  ...invalid,
  message: 'the server rejected our request due to an error in our request',
} as const;
export const patches: readonly Mistake[] = [
  {
    name: 'another uid',
    ...patch(mergePatch, '{"metadata":{"uid":"other"}}'),
    ...invalid,
    message: 'ConfigMap "a" is invalid: metadata.uid: Invalid value: "other": field is immutable',
  },
  {
    name: 'a merge patch that is no JSON',
    ...patch(mergePatch, '{'),
    ...bad,
    message: 'error decoding patch: unexpected end of JSON input',
  },
  {
    name: 'no merge patch at all',
    ...patch(mergePatch, ''),
    ...bad,
    message: 'error decoding patch: unexpected end of JSON input',
  },
  {
    name: 'a merge patch that is a list',
    ...patch(mergePatch, '[]'),
    ...bad,
    message: 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}',
  },
  { name: 'a merge patch that is null', ...patch(mergePatch, 'null'), ...bad, message: 'Invalid JSON Patch' },
  {
    name: 'a merge patch nested too deeply',
    ...patch(mergePatch, `${'{"data":'.repeat(20_000)}1${'}'.repeat(20_000)}`),
    ...bad,
    message: "error decoding patch: invalid character '{' exceeded max depth",
  },
  {
    name: 'a merge patch that puts a list where a map should be',
    ...patch(mergePatch, '{"data":["<"]}'),
    ...invalid,
    causes: ['patch'],
    message: nonsense(
      'json: cannot unmarshal array into Go struct field ConfigMap\\.data of type map\\[string\\]string',
      '"\\{\\\\"apiVersion\\\\":\\\\"v1\\\\",\\\\"data\\\\":\\[\\\\"\\\\\\\\u003c\\\\"\\],\\\\"kind\\\\":\\\\"ConfigMap\\\\",\\\\"metadata\\\\":\\{.*\\}\\}"',
    ),
  },
  {
    name: 'a merge patch that makes another kind of it',
    ...patch(mergePatch, '{"kind":"Nonsense"}'),
    ...invalid,
    message: nonsense(`no kind "Nonsense" is registered for version "v1" in scheme "${scheme}"`),
  },
  {
    name: 'a merge patch with unknown and repeated fields under Strict',
    ...patch(mergePatch, '{"foo":1,"data":{"a":"1","a":"2"}}', '?fieldValidation=Strict'),
    ...invalid,
    message: nonsense('strict decoding error: duplicate field "data\\.a", unknown field "foo"'),
  },
  {
    name: 'a merge patch of another name',
    ...patch(mergePatch, '{"metadata":{"name":"b"}}'),
    ...bad,
    message: 'the name of the object (b) does not match the name on the URL (a)',
  },
  {
    name: 'a merge patch of another namespace',
    ...patch(mergePatch, '{"metadata":{"namespace":"b"}}'),
    ...bad,
    message: 'the namespace of the provided object does not match the namespace sent on the request',
  },
  {
    name: 'a merge patch that is applied by force',
    ...patch(mergePatch, '{}', '?force=true'),
    ...invalid,
    message: 'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
  },
  {
    name: 'a strategic patch that is no JSON',
    ...patch(strategicPatch, '{'),
    ...bad,
    message: 'unexpected end of JSON input',
  },
  {
    name: 'a strategic patch that is a list',
    ...patch(strategicPatch, '[]'),
    ...bad,
    message: 'json: cannot unmarshal array into Go value of type map[string]interface {}',
  },
  {
    name: 'a strategic patch that puts a text where a map should be',
    ...patch(strategicPatch, '{"data":"x"}'),
    ...invalid,
    message: ' "" is invalid: patch: Invalid value: "map[data:x]": cannot restore map from string',
  },
  {
    name: 'a strategic patch that puts a map where a list should be',
    ...patch(strategicPatch, '{"metadata":{"finalizers":{"a":"b"}}}'),
    ...invalid,
    message:
      ' "" is invalid: patch: Invalid value: "map[metadata:map[finalizers:map[a:b]]]": cannot restore slice from map',
  },
  {
    name: 'a strategic patch that puts a number where a text should be',
    ...patch(strategicPatch, '{"data":{"x":5}}'),
    ...invalid,
    message: ' "" is invalid: patch: Invalid value: "map[data:map[x:5]]": cannot convert int64 to string',
  },
  {
    name: 'a strategic patch with an unknown directive',
    ...patch(strategicPatch, '{"data":{"$patch":"frob"}}'),
    code: 500,
    message: 'unknown patch type: frob in map: map[$patch:frob]',
  },
  {
    name: 'a JSON patch that is an object',
    ...patch(jsonPatch, '{}'),
    ...bad,
    message: 'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
  },
  {
    name: 'a JSON patch of numbers',
    ...patch(jsonPatch, '[1]'),
    ...bad,
    message: 'error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp',
  },
  {
    name: 'a JSON patch whose path is a number',
    ...patch(jsonPatch, '[{"op":"add","path":5}]'),
    ...bad,
    message: 'error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string',
  },
  {
    name: 'a JSON patch with unknown members under Strict',
    ...patch(jsonPatch, '[{"op":"add","path":"/data/y","value":"1","why":"not"}]', '?fieldValidation=Strict'),
    ...invalid,
    message: nonsense('strict decoding error: json patch unknown field "\\[0\\]\\.why"'),
  },
  {
    name: 'a JSON patch of too many operations',
    ...patch(jsonPatch, `[${Array(10_001).fill('{"op":"test","path":"/data/x","value":"1"}').join(',')}]`),
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
  },
  ...[
    '[{"op":"frob","path":"/data/x"}]',
    '[{"op":"replace","path":"/no/where","value":"1"}]',
    '[{"op":"remove","path":"/data/none"}]',
    '[{"op":"add","path":"/no/where","value":"1"}]',
    '[{"op":"test","path":"/data/x","value":"2"}]',
    '[{"op":"move","from":"/data/none","path":"/data/y"}]',
    '[{"op":"add","path":"/metadata/labels/a"}]',
    // The first operation works, and still nothing of it stays.
    '[{"op":"add","path":"/data/y","value":"1"},{"op":"remove","path":"/data/none"}]',
  ].map((body) => ({ name: `the JSON patch ${body}`, ...patch(jsonPatch, body), ...doesNotApply })),
  {
    name: 'a JSON patch that leaves no object',
    ...patch(jsonPatch, '[{"op":"replace","path":"","value":[]}]'),
    ...invalid,
    message:
      /^ "" is invalid: patch: Invalid value: "\[\]": couldn't get version\/kind; json parse error: json: cannot unmarshal array into Go value of type struct/,
  },
  {
    name: 'a broken patch for what is not there',
    ...patch(mergePatch, '{'),
    path: `${collection}/missing`,
    ...notFound,
    message: 'configmaps "missing" not found',
  },
];
