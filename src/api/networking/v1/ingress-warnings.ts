/** What the server warns of in an Ingress. */
import type { Ingress } from '../../gen/networking-v1.ts';
import type { WarningsOf } from '../../warnings.ts';

const classAnnotation = 'kubernetes.io/ingress.class';

/** Told once, at creation. */
export const ingressWarnings: WarningsOf<Ingress> = ({ metadata, spec }, previous) => {
  if (previous || metadata.annotations?.[classAnnotation] === undefined || spec?.ingressClassName != null) return [];
  return [`annotation "${classAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`];
};
