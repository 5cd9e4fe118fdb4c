/** ClusterTrustBundles: the root certificates of a signer. One of a signer carries the signer's name in its own. */
import { type FieldError, path, tooLong } from '../../../apimachinery/field-error.ts';
import { byteLength } from '../../../apimachinery/names.ts';
import { nameColumn, text } from '../../columns.ts';
import { type ClusterTrustBundle, clusterTrustBundles } from '../../gen/certificates-v1beta1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { refused, validateImmutable } from '../../validation.ts';
import { trustAnchorProblems } from '../pem-blocks.ts';
import { signerOfTrustBundle, trustBundleName, validateSignerName } from '../signer-name.ts';

const mostBytes = 1024 * 1024;

export const clusterTrustBundleBehaviour: KindBehaviour<ClusterTrustBundle> = {
  resource: clusterTrustBundles,
  allowUnconditionalUpdate: false,
  validateName: (name, prefix) => trustBundleName(name, prefix, signerOfTrustBundle(name)),
  validate: (bundle) => validate(bundle),
  validateUpdate: (bundle, previous) => [
    ...validate(bundle, previous),
    ...validateImmutable(path('spec', 'signerName'), bundle.spec.signerName, previous.spec.signerName),
  ],
  columns: [nameColumn, text('SignerName', ({ spec }) => spec?.signerName || '<none>')],
};

/** A bundle that stays as it is is not read anew: what a parser takes may change. */
function validate({ metadata, spec }: ClusterTrustBundle, previous?: ClusterTrustBundle): FieldError[] {
  const signerName = spec?.signerName ?? '';
  const name = metadata.name ?? '';
  const errors: FieldError[] = [];
  if (signerOfTrustBundle(name) !== signerName) {
    errors.push(...refused(path('metadata', 'name'), name, trustBundleName(name, false, signerName)));
  }
  if (signerName) errors.push(...validateSignerName(path('spec', 'signerName'), signerName));
  const bundle = spec?.trustBundle ?? '';
  return bundle === previous?.spec.trustBundle ? errors : [...errors, ...validateBundle(bundle)];
}

function validateBundle(bundle: string): FieldError[] {
  const at = path('spec', 'trustBundle');
  if (byteLength(bundle) > mostBytes) return [tooLong(at, mostBytes)];
  return refused(at, '<value omitted>', trustAnchorProblems(bundle));
}
