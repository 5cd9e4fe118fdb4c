/** The checks that level `restricted` adds to, or puts in the place of, those of `baseline`. */
import { badSeccompProfiles, procMountFinding } from './baseline-checks.ts';
import { andJoin, containersText, type Finding, quoted, sortedSet } from './finding.ts';
import { type Check, type CheckFunction, containersOf, hasOwnUsers, namesWhere } from './pod-view.ts';

const allowedVolumes: ReadonlySet<string> = new Set([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
]);

/** Since 1.25 what means nothing on Windows is not asked of Windows Pods. */
function isExemptWindows(pod: Parameters<CheckFunction>[0], minor: number): boolean {
  return minor >= 25 && pod.spec.os?.name === 'windows';
}

const allowPrivilegeEscalation: CheckFunction = (pod, minor) => {
  if (isExemptWindows(pod, minor)) return undefined;
  const names = namesWhere(pod, (container) => container.securityContext?.allowPrivilegeEscalation !== false);
  if (names.length === 0) return undefined;
  const detail = `${containersText(names)} must set securityContext.allowPrivilegeEscalation=false`;
  return { reason: 'allowPrivilegeEscalation != false', detail };
};

const capabilities: CheckFunction = (pod, minor) => {
  if (isExemptWindows(pod, minor)) return undefined;
  const withoutDrop = namesWhere(pod, (container) => !container.securityContext?.capabilities?.drop?.includes('ALL'));
  const extraOf = (container: ReturnType<typeof containersOf>[number]) =>
    (container.securityContext?.capabilities?.add ?? []).filter((name) => name !== 'NET_BIND_SERVICE');
  const adding = namesWhere(pod, (container) => extraOf(container).length > 0);
  const details = [
    ...(withoutDrop.length > 0
      ? [`${containersText(withoutDrop)} must set securityContext.capabilities.drop=["ALL"]`]
      : []),
    ...(adding.length > 0
      ? [
          `${containersText(adding)} must not include ${quoted(sortedSet(containersOf(pod).flatMap(extraOf)))} in securityContext.capabilities.add`,
        ]
      : []),
  ];
  return details.length > 0 ? { reason: 'unrestricted capabilities', detail: details.join('; ') } : undefined;
};

const volumes: CheckFunction = ({ spec }) => {
  const typeOf = (volume: object) =>
    Object.entries(volume).find(([key, value]) => key !== 'name' && value !== undefined && value !== null)?.[0];
  const bad = (spec.volumes ?? [])
    .map((volume) => [volume.name, typeOf(volume) ?? 'unknown'] as const)
    .filter(([, type]) => !allowedVolumes.has(type));
  if (bad.length === 0) return undefined;
  const names = bad.map(([name]) => name);
  const types = sortedSet(bad.map(([, type]) => type));
  const uses = names.length === 1 ? 'volume' : 'volumes';
  const what = types.length === 1 ? 'restricted volume type' : 'restricted volume types';
  const detail = `${uses} ${quoted(names)} ${names.length === 1 ? 'uses' : 'use'} ${what} ${quoted(types)}`;
  return { reason: 'restricted volume types', detail };
};

const runAsNonRoot: CheckFunction = (pod, minor) => {
  if (minor >= 35 && hasOwnUsers(pod)) return undefined;
  const ofPod = pod.spec.securityContext?.runAsNonRoot;
  const reason = 'runAsNonRoot != true';
  const refusing = namesWhere(pod, (container) => container.securityContext?.runAsNonRoot === false);
  const setters = [...(ofPod === false ? ['pod'] : []), ...(refusing.length > 0 ? [containersText(refusing)] : [])];
  if (setters.length > 0)
    return { reason, detail: `${andJoin(setters)} must not set securityContext.runAsNonRoot=false` };
  const silent = namesWhere(pod, (container) => (container.securityContext?.runAsNonRoot ?? ofPod) !== true);
  if (silent.length === 0) return undefined;
  return { reason, detail: `pod or ${containersText(silent)} must set securityContext.runAsNonRoot=true` };
};

const runAsUser: CheckFunction = (pod, minor) => {
  if (minor >= 35 && hasOwnUsers(pod)) return undefined;
  const names = namesWhere(pod, (container) => container.securityContext?.runAsUser === 0);
  const setters = [
    ...(pod.spec.securityContext?.runAsUser === 0 ? ['pod'] : []),
    ...(names.length > 0 ? [containersText(names)] : []),
  ];
  return setters.length > 0
    ? { reason: 'runAsUser=0', detail: `${andJoin(setters)} must not set runAsUser=0` }
    : undefined;
};

const seccompProfile: CheckFunction = (pod, minor): Finding | undefined => {
  if (isExemptWindows(pod, minor)) return undefined;
  const bad = badSeccompProfiles(pod);
  if (bad || pod.spec.securityContext?.seccompProfile) return bad;
  const silent = namesWhere(pod, (container) => container.securityContext?.seccompProfile === undefined);
  if (silent.length === 0) return undefined;
  const types = '"RuntimeDefault" or "Localhost"';
  return {
    reason: 'seccompProfile',
    detail: `pod or ${containersText(silent)} must set securityContext.seccompProfile.type to ${types}`,
  };
};

export const restrictedChecks: readonly Check[] = [
  { id: 'allowPrivilegeEscalation', level: 'restricted', since: 8, run: allowPrivilegeEscalation },
  {
    id: 'capabilities_restricted',
    level: 'restricted',
    since: 22,
    replaces: ['capabilities_baseline'],
    run: capabilities,
  },
  { id: 'procMount_restricted', level: 'restricted', since: 35, replaces: ['procMount'], run: procMountFinding },
  { id: 'restrictedVolumes', level: 'restricted', since: 0, replaces: ['hostPathVolumes'], run: volumes },
  { id: 'runAsNonRoot', level: 'restricted', since: 0, run: runAsNonRoot },
  { id: 'runAsUser', level: 'restricted', since: 23, run: runAsUser },
  {
    id: 'seccompProfile_restricted',
    level: 'restricted',
    since: 19,
    replaces: ['seccompProfile_baseline'],
    run: seccompProfile,
  },
];
