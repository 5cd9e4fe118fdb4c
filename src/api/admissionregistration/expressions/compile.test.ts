import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  annotationResult,
  applyResult,
  compileExpression,
  conditionResult,
  jsonPatchResult,
  messageResult,
  PolicyCompiler,
  type ResultTypes,
} from './compile.ts';

const plain = { params: false, authorizer: false };
const whole = { params: true, authorizer: true, patches: true };
const problemOf = (text: string, results: ResultTypes = conditionResult, scope = plain) =>
  compileExpression(text, scope, results).problem;

describe("Admission's expressions", () => {
  const sound: readonly { readonly text: string; readonly results?: ResultTypes; readonly scope?: typeof whole }[] = [
    { text: 'object.spec.replicas > 3 && oldObject == null' },
    { text: 'request.namespace == "a" || request.__namespace__ == "b" || request.userInfo.groups.exists(g, g == "x")' },
    { text: 'namespaceObject.metadata.labels["a"] == "b"' },
    { text: 'request.options.kind == "CreateOptions"' },
    { text: 'params.limit > 3 && authorizer.requestResource.check("get").allowed()', scope: whole },
    { text: '"a" + request.name', results: messageResult },
    { text: 'null', results: annotationResult },
    { text: 'Object{spec: Object.spec{replicas: 3}}', results: applyResult, scope: whole },
    { text: '[JSONPatch{op: "add", path: "/a", value: {"b": 1}}]', results: jsonPatchResult, scope: whole },
  ];
  for (const { text, results = conditionResult, scope = plain } of sound) {
    it(`may say ${text}`, () => assert.equal(compileExpression(text, scope, results).problem, undefined));
  }

  const wrong: readonly { readonly text: string; readonly results?: ResultTypes; readonly problem: RegExp }[] = [
    { text: 'params.x', problem: /^compilation failed: ERROR: <input>:1:1: undeclared reference to 'params'/ },
    { text: 'authorizer', problem: /undeclared reference to 'authorizer'/ },
    { text: 'object.', problem: /^compilation failed: ERROR: <input>:1:8: Syntax error/ },
    { text: 'request.nope == ""', problem: /undefined field 'nope'/ },
    { text: '1', problem: /^must evaluate to bool but got int$/ },
    { text: 'object.spec.flag', problem: /^must evaluate to bool but got dyn$/ },
    { text: '1', results: annotationResult, problem: /^must evaluate to one of \[string null_type\] but got int$/ },
    { text: '[]', results: jsonPatchResult, problem: /^must evaluate to list\(JSONPatch\) but got list\(dyn\)$/ },
  ];
  for (const { text, results, problem } of wrong) {
    it(`may not say ${text}`, () => assert.match(problemOf(text, results) ?? '', problem));
  }

  it("may use a policy's variables, each those before it", () => {
    const compiler = new PolicyCompiler();
    const scope = { params: false, authorizer: true };
    assert.equal(compiler.addVariable('n', 'size(object.items)', scope).problem, undefined);
    assert.equal(compiler.addVariable('twice', 'variables.n * 2', scope).problem, undefined);
    assert.match(compiler.addVariable('early', 'variables.late', scope).problem ?? '', /undefined field 'late'/);
    assert.equal(compiler.compile('variables.twice > 2', scope, conditionResult).problem, undefined);
    const mistyped = compiler.compile('variables.twice == "a"', scope, conditionResult).problem;
    assert.match(mistyped ?? '', /found no matching overload for '_==_' applied to '\(int, string\)'/);
  });
});
