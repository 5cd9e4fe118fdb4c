/** What the server warns of in a ResourceQuota: limits that leave less than the requests they are to hold. */
import { isQuantity, parseQuantity } from '../../../apimachinery/quantity.ts';
import type { ResourceQuota } from '../../gen/core-v1.ts';
import type { WarningsOf } from '../../warnings.ts';

/** Of the first two, requests are limited under the bare name too. */
const limited = ['cpu', 'memory', 'storage', 'ephemeral-storage'] as const;

/** Told once, at creation. */
export const resourceQuotaWarnings: WarningsOf<ResourceQuota> = ({ spec }, previous) => {
  const hard = spec?.hard ?? {};
  if (previous) return [];
  return limited.flatMap((resource) => {
    const bare = resource === 'cpu' || resource === 'memory' ? resource : undefined;
    const names = [`requests.${resource}`, ...(bare ? [bare] : [])];
    const name = names.find((candidate) => hard[candidate] !== undefined);
    const [request, limit] = [hard[name ?? ''], hard[`limits.${resource}`]];
    if (request === undefined || limit === undefined || !isQuantity(request) || !isQuantity(limit)) return [];
    if (parseQuantity(request).compare(parseQuantity(limit)) <= 0) return [];
    return [`ResourceQuota ${name} (${request}) should be less than limits.${resource} (${limit})`];
  });
};
