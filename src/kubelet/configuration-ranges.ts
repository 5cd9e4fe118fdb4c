/** Numbers of the kubelet's configuration and how far they may go, in upstream's words. What is wrong is told all at once. */

/** `undefined` as the most: only the sign is looked at. `zeroIsOff`: below the least, yet allowed. */
interface NumberRange {
  readonly field: string;
  readonly flag: string;
  readonly least: number;
  readonly most?: number;
  readonly zeroIsOff?: boolean;
}

const mostPorts = 65_535;
const ranges: readonly NumberRange[] = [
  { field: 'eventBurst', flag: 'event-burst', least: 0 },
  { field: 'eventRecordQPS', flag: 'event-qps', least: 0 },
  { field: 'healthzPort', flag: 'healthz-port', least: 1, most: mostPorts, zeroIsOff: true },
  { field: 'imageGCHighThresholdPercent', flag: 'image-gc-high-threshold', least: 0, most: 100 },
  { field: 'imageGCLowThresholdPercent', flag: 'image-gc-low-threshold', least: 0, most: 100 },
  { field: 'kubeAPIBurst', flag: 'kube-api-burst', least: 0 },
  { field: 'kubeAPIQPS', flag: 'kube-api-qps', least: 0 },
  { field: 'maxOpenFiles', flag: 'max-open-files', least: 0 },
  { field: 'maxPods', flag: 'max-pods', least: 0 },
  { field: 'oomScoreAdj', flag: 'oom-score-adj', least: -1000, most: 1000 },
  { field: 'podsPerCore', flag: 'pods-per-core', least: 0 },
  { field: 'port', flag: 'port', least: 1, most: mostPorts },
  { field: 'readOnlyPort', flag: 'read-only-port', least: 0, most: mostPorts },
  { field: 'registryBurst', flag: 'registry-burst', least: 0 },
  { field: 'registryPullQPS', flag: 'registry-qps', least: 0 },
];

/** `numberOf`: the value in force, of a flag or of the field that says the same. */
export function numberProblems(numberOf: (flag: string, field: string) => number): readonly string[] {
  const problems = ranges.flatMap(({ field, flag, least, most, zeroIsOff = false }) => {
    const value = numberOf(flag, field);
    if ((value >= least && value <= (most ?? value)) || (zeroIsOff && value === 0)) return [];
    const rule = most === undefined ? 'not be a negative number' : `be between ${least} and ${most}, inclusive`;
    return [`invalid configuration: ${field} (--${flag}) ${value} must ${rule}`];
  });
  const [low, high] = [
    numberOf('image-gc-low-threshold', 'imageGCLowThresholdPercent'),
    numberOf('image-gc-high-threshold', 'imageGCHighThresholdPercent'),
  ];
  if (low >= high)
    problems.push(
      `invalid configuration: imageGCLowThresholdPercent (--image-gc-low-threshold) ${low} must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) ${high}`,
    );
  return problems;
}
