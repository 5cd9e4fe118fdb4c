/**
 * Which IP families a Service has, and in which order: what the user says, or what follows from the addresses he gives, from the
 * policy and from what the cluster has. Works on the draft; refuses contradictions in upstream's words.
 */
import type { IPFamily, Service } from '../../api/gen/core-v1.ts';
import { type FieldError, invalid as invalidValue, path } from '../../apimachinery/field-error.ts';
import type { Draft } from '../../apimachinery/meta.ts';
import { invalid } from '../../apimachinery/status.ts';
import { familyOf } from './address-range.ts';

export const headless = 'None';
const serviceKind = { group: '', kind: 'Service' };

/** `families` are those of the cluster, the default one first. */
export function settleFamilies(
  service: Draft<Service>,
  previous: Service | undefined,
  families: readonly IPFamily[],
): void {
  const { spec } = service;
  if (spec.type === 'ExternalName' || keepsDualStackAsItIs(service, previous)) return;
  const selectorless = Object.keys(spec.selector ?? {}).length === 0;
  const isHeadless = spec.clusterIP === headless || spec.clusterIPs?.[0] === headless;
  // There is no static default, so that nothing changes between one and two families without being told.
  spec.ipFamilyPolicy ||=
    previous?.spec.ipFamilyPolicy || (isHeadless && selectorless ? 'RequireDualStack' : 'SingleStack');
  refuse(service, malformedAddresses(service));
  refuse(service, [
    ...(previous ? releaseErrors(service, previous) : []),
    ...policyErrors(service),
    ...inferFamilies(service, families),
  ]);

  if (isHeadless && selectorless) {
    // Its endpoints are made by hand, so it may have families that the cluster does not.
    spec.ipFamilies = spec.ipFamilies?.length ? spec.ipFamilies : [families[0]!];
    if (spec.ipFamilies.length < 2 && spec.ipFamilyPolicy !== 'SingleStack')
      spec.ipFamilies.push(other(spec.ipFamilies[0]!));
    return;
  }
  refuse(service, unconfiguredErrors(service, families));
  if (!spec.ipFamilies?.length) spec.ipFamilies = [families[0]!];
  if (spec.ipFamilyPolicy !== 'SingleStack' && spec.ipFamilies.length === 1 && families.length === 2) {
    spec.ipFamilies.push(other(spec.ipFamilies[0]!));
  }
}

/** A Service that prefers two families is not changed when only the cluster has changed. */
export function keepsDualStackAsItIs(service: Draft<Service>, previous: Service | undefined): boolean {
  if (!previous || service.spec.ipFamilyPolicy !== 'PreferDualStack') return false;
  if (
    service.spec.type !== previous.spec.type ||
    (previous.spec.ipFamilyPolicy ?? 'PreferDualStack') !== 'PreferDualStack'
  )
    return false;
  return (
    sameList(service.spec.clusterIPs, previous.spec.clusterIPs) &&
    sameList(service.spec.ipFamilies, previous.spec.ipFamilies)
  );
}

export function sameList(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  return (a ?? []).length === (b ?? []).length && (a ?? []).every((item, i) => item === b?.[i]);
}

function other(family: IPFamily): IPFamily {
  return family === 'IPv4' ? 'IPv6' : 'IPv4';
}

function refuse(service: Draft<Service>, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid(serviceKind, service.metadata.name ?? '', errors);
}

/** What could not even be looked at below; the kind's own validation says the rest. */
function malformedAddresses({ spec }: Draft<Service>): FieldError[] {
  const at = path('spec', 'clusterIPs');
  const errors: FieldError[] = [];
  if (spec.clusterIP !== undefined && spec.clusterIPs?.length && spec.clusterIPs[0] !== spec.clusterIP) {
    errors.push(invalidValue(at, spec.clusterIPs, 'first value must match `clusterIP`'));
  }
  (spec.clusterIPs ?? []).forEach((text, i) => {
    if (text === headless || familyOf(text)) return;
    errors.push(invalidValue(at.index(i), text, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'));
  });
  const families = (spec.clusterIPs ?? []).map(familyOf);
  (spec.ipFamilies ?? []).forEach((family, i) => {
    if (families[i] === undefined || families[i] === family) return;
    errors.push(
      invalidValue(
        at.index(i),
        spec.clusterIPs?.[i],
        `expected an ${family} value as indicated by \`ipFamilies[${i}]\``,
      ),
    );
  });
  return errors;
}

/** Going back to one family is said by the policy; then the second address and family go by themselves. */
function releaseErrors(service: Draft<Service>, previous: Service): FieldError[] {
  const { spec } = service;
  const at = path('spec', 'ipFamilyPolicy');
  if (spec.ipFamilyPolicy === 'SingleStack') {
    if (sameList(spec.clusterIPs, previous.spec.clusterIPs) && (spec.clusterIPs?.length ?? 0) > 1)
      spec.clusterIPs = [spec.clusterIPs![0]!];
    if (sameList(spec.ipFamilies, previous.spec.ipFamilies) && (spec.ipFamilies?.length ?? 0) > 1)
      spec.ipFamilies = [spec.ipFamilies![0]!];
    return [];
  }
  const reduced = (now: readonly string[] | undefined, before: readonly string[] | undefined) =>
    (now?.length ?? 0) > 0 && now!.length < (before?.length ?? 0);
  const release = (what: string) =>
    invalidValue(at, spec.ipFamilyPolicy, `must be 'SingleStack' to release the secondary ${what}`);
  return [
    ...(reduced(spec.clusterIPs, previous.spec.clusterIPs) ? [release('cluster IP')] : []),
    ...(reduced(spec.ipFamilies, previous.spec.ipFamilies) ? [release('IP family')] : []),
  ];
}

function policyErrors({ spec }: Draft<Service>): FieldError[] {
  if (spec.ipFamilyPolicy !== 'SingleStack') return [];
  const at = path('spec', 'ipFamilyPolicy');
  const both = (what: string) =>
    invalidValue(
      at,
      spec.ipFamilyPolicy,
      `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`,
    );
  return [
    ...(spec.clusterIPs?.length === 2 ? [both('cluster IPs')] : []),
    ...(spec.ipFamilies?.length === 2 ? [both('IP families')] : []),
  ];
}

function inferFamilies({ spec }: Draft<Service>, families: readonly IPFamily[]): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, text] of (spec.clusterIPs ?? []).entries()) {
    const family = familyOf(text);
    if (family === undefined) break;
    if (i < (spec.ipFamilies?.length ?? 0)) continue;
    if (families.includes(family)) spec.ipFamilies = [...(spec.ipFamilies ?? []), family];
    else
      errors.push(
        invalidValue(
          path('spec', 'clusterIPs').index(i),
          spec.clusterIPs,
          `${family} is not configured on this cluster`,
        ),
      );
  }
  return errors;
}

function unconfiguredErrors({ spec }: Draft<Service>, families: readonly IPFamily[]): FieldError[] {
  const errors: FieldError[] = [];
  if (spec.ipFamilyPolicy === 'RequireDualStack' && families.length < 2) {
    const detail = 'this cluster is not configured for dual-stack services';
    errors.push(invalidValue(path('spec', 'ipFamilyPolicy'), spec.ipFamilyPolicy, detail));
  }
  (spec.ipFamilies ?? []).forEach((family, i) => {
    if (!families.includes(family))
      errors.push(invalidValue(path('spec', 'ipFamilies').index(i), family, 'not configured on this cluster'));
  });
  return errors;
}
