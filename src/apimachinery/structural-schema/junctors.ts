/**
 * `allOf`, `anyOf`, `oneOf` and `not`. Of alternatives that all fail, the one is explained that the value came closest to: the first
 * with the most checks passed, as upstream counts them.
 */
import { quote } from '../go-text.ts';
import { uncorrelated } from './correlation.ts';
import type { Attempt, Findings } from './findings.ts';
import type { StructuralSchema, ValueValidation } from './schema.ts';

/** Reports what is wrong with a value, and returns how many checks it passed. */
export type Check = (value: unknown, findings: Findings, previous: unknown) => number;

export type Compile = (schema: StructuralSchema) => Check;

/** Undefined where there are none. */
export function compileJunctors(validation: ValueValidation, compile: Compile): Check | undefined {
  const parts = [
    anyOf(validation.anyOf.map(compile)),
    oneOf(validation.oneOf.map(compile)),
    allOf(validation.allOf.map(compile)),
    not(validation.not && compile(validation.not)),
  ].filter((part) => part !== undefined);
  if (parts.length === 0) return undefined;
  return (value, findings, previous) => parts.reduce((sum, part) => sum + part(value, findings, previous), 0);
}

function anyOf(checks: readonly Check[]): Check | undefined {
  if (checks.length === 0) return undefined;
  return (value, findings) => {
    let best: Attempt | undefined;
    for (const check of checks) {
      const attempt = findings.apart(() => check(value, findings, uncorrelated));
      if (attempt.found.length === 0) return attempt.matches;
      if (!best || attempt.matches > best.matches) best = attempt;
    }
    findings.unplaced(`${quote(findings.where())} must validate at least one schema (anyOf)`);
    findings.accept(best!);
    return best!.matches;
  };
}

function oneOf(checks: readonly Check[]): Check | undefined {
  if (checks.length === 0) return undefined;
  return (value, findings) => {
    let best: Attempt | undefined;
    let valid = 0;
    let matches = 0;
    for (const check of checks) {
      const attempt = findings.apart(() => check(value, findings, uncorrelated));
      if (attempt.found.length === 0) {
        if (valid++ === 0) matches = attempt.matches;
      } else if (!best || attempt.matches > best.matches) best = attempt;
    }
    if (valid === 1) return matches;
    const count = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`;
    findings.unplaced(`${quote(findings.where())} must validate one and only one schema (oneOf). ${count}`);
    if (valid > 0 || !best) return 0;
    findings.accept(best);
    return best.matches;
  };
}

function allOf(checks: readonly Check[]): Check | undefined {
  if (checks.length === 0) return undefined;
  return (value, findings) => {
    let valid = 0;
    let matches = 0;
    for (const check of checks) {
      const before = findings.count;
      matches += check(value, findings, uncorrelated);
      if (findings.count === before) valid++;
    }
    if (valid < checks.length) {
      const none = valid === 0 ? '. None validated' : '';
      findings.unplaced(`${quote(findings.where())} must validate all the schemas (allOf)${none}`);
    }
    return matches;
  };
}

function not(check: Check | undefined): Check | undefined {
  if (!check) return undefined;
  return (value, findings) => {
    const { found } = findings.apart(() => check(value, findings, uncorrelated));
    if (found.length === 0) findings.unplaced(`${quote(findings.where())} must not validate the schema (not)`);
    return 0;
  };
}
