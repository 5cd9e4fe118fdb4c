/**
 * The Pod Security Standards: what a Pod must not ask for at level `baseline`, and what it must state at level `restricted`. A check
 * can differ between versions of the standard; a namespace can ask for an old one.
 */
import { baselineChecks } from './baseline-checks.ts';
import type { Check } from './pod-view.ts';
import { restrictedChecks } from './restricted-checks.ts';

/** In the order in which findings are told: baseline by id, then restricted by id. */
export const podSecurityChecks: readonly Check[] = [...baselineChecks, ...restrictedChecks];
