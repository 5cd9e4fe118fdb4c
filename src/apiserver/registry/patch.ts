/**
 * Patches: JSON patch, merge patch and strategic merge patch, applied to the object in the version the client speaks. When somebody
 * else was faster the patch is applied anew to what stands there then, a few times.
 */

import type { ApiResponse } from '../request.ts';
import { serverSideApply } from './apply.ts';
import { checkIdentity, toHub } from './body.ts';
import { replyToWrite } from './create.ts';
import type { Operation } from './operation.ts';
import { checkPatchType, readPatch } from './patch-body.ts';
import { copyStandingParts } from './standing-parts.ts';
import { updateObject } from './update.ts';
import { applyPatchType, parseWriteOptions } from './write-options.ts';

/** Upstream tries this often after losing a race. */
const raceAttempts = 6;

export async function patch(operation: Operation): Promise<ApiResponse> {
  const { request, resource, warnings } = operation;
  if (checkPatchType(request, resource.codec) === applyPatchType) return serverSideApply(operation);
  const options = parseWriteOptions(request.query, 'PatchOptions');
  const { codec } = resource;
  const apply = await readPatch(request, { codec, fieldValidation: options.fieldValidation });
  let warned = false;
  const { written } = await updateObject(operation, options, {
    attempts: raceAttempts,
    make(current) {
      const patched = apply(current.objectIn(resource) as unknown as Readonly<Record<string, unknown>>);
      if (!warned) warnings.push(...patched.warnings);
      warned = true;
      if (resource.conversion && !resource.conversion.identity) copyStandingParts(patched.object);
      const next = toHub(operation, patched.object);
      checkIdentity(operation, next);
      return next;
    },
  });
  return replyToWrite(operation, written, 200);
}
