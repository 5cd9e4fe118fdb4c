/** `scale` of a custom resource: its numbers are where the definition's paths lead. */
import type { CustomResourceSubresourceScale } from '../../api/gen/apiextensions-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { badRequest, internalError, messageOf, statusError } from '../../apimachinery/status.ts';
import type { Scalable } from '../subresources/scalable.ts';
import { integerAt, setAt, textAt } from './scale-paths.ts';

export function customScale(paths: CustomResourceSubresourceScale): Scalable {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = paths;
  const field = `the spec replicas field ${quote(specReplicasPath)}`;
  return {
    read(object) {
      try {
        return {
          replicas: integerAt(object, specReplicasPath),
          statusReplicas: integerAt(object, statusReplicasPath) ?? 0,
          selector: labelSelectorPath ? (textAt(object, labelSelectorPath) ?? '') : '',
        };
      } catch (error) {
        throw unknown(error);
      }
    },
    write(object, replicas) {
      try {
        setAt(object as unknown as Record<string, unknown>, specReplicasPath, replicas);
      } catch (error) {
        throw unknown(error);
      }
    },
    unset: {
      read: () => internalError(`${field} does not exist`),
      update: () => badRequest(`${field} cannot be empty`),
    },
  };
}

/** Upstream has no code for these, and answers 500 with the bare words. */
function unknown(error: unknown): Error {
  return statusError({ code: 500, reason: '', message: messageOf(error) });
}
