/** ClusterTrustBundles: the root certificates of a signer. One of a signer carries the signer's name in its own. */
import { type FieldError, invalid, path } from '../../../apimachinery/field-error.ts';
import { byteLength } from '../../../apimachinery/names.ts';
import { nameColumn, text } from '../../columns.ts';
import { type ClusterTrustBundle, clusterTrustBundles } from '../../gen/certificates-v1beta1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { refused, validateImmutable } from '../../validation.ts';
import { certificatesProblem } from '../pem-blocks.ts';
import { signerOfTrustBundle, trustBundleName, validateSignerName } from '../signer-name.ts';

const mostBytes = 1024 * 1024;

export const clusterTrustBundleBehaviour: KindBehaviour<ClusterTrustBundle> = {
  resource: clusterTrustBundles,
  allowUnconditionalUpdate: false,
  validateName: (name, prefix) => trustBundleName(name, prefix, signerOfTrustBundle(name)),
  validate,
  validateUpdate: (bundle, previous) => [
    ...validate(bundle),
    ...validateImmutable(path('spec', 'signerName'), bundle.spec.signerName, previous.spec.signerName),
  ],
  columns: [nameColumn, text('SignerName', ({ spec }) => spec?.signerName || '<none>')],
};

function validate({ metadata, spec }: ClusterTrustBundle): FieldError[] {
  const signerName = spec?.signerName ?? '';
  const errors = signerName ? validateSignerName(path('spec', 'signerName'), signerName) : [];
  const name = metadata.name ?? '';
  if (errors.length === 0 && signerOfTrustBundle(name) !== signerName) {
    errors.push(...refused(path('metadata', 'name'), name, trustBundleName(name, false, signerName)));
  }
  return [...errors, ...validateBundle(spec?.trustBundle ?? '')];
}

function validateBundle(bundle: string): FieldError[] {
  const at = path('spec', 'trustBundle');
  if (byteLength(bundle) > mostBytes) {
    return [invalid(at, '<value omitted>', 'must be no more than 1048576 bytes')];
  }
  const problem = certificatesProblem(Buffer.from(bundle).toString('base64'));
  return problem ? [invalid(at, '<value omitted>', problem)] : [];
}
