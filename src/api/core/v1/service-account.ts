/** ServiceAccounts: who a Pod is when it talks to the API. */
import type { Draft } from '../../../apimachinery/meta.ts';
import { ageColumn, nameColumn } from '../../columns.ts';
import { type ServiceAccount, serviceAccounts } from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';

export const serviceAccountBehaviour: KindBehaviour<ServiceAccount> = {
  resource: serviceAccounts,
  prepareForCreate: keepSecretNames,
  prepareForUpdate: keepSecretNames,
  columns: [nameColumn, ageColumn],
};

/** Secrets are listed by their names; whatever else a reference could say is dropped. */
function keepSecretNames(account: Draft<ServiceAccount>): void {
  if (account.secrets) account.secrets = account.secrets.map(({ name }) => (name === undefined ? {} : { name }));
}
