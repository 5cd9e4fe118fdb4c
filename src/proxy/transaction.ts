/**
 * The commands that bring the kernel's table from one ruleset to the next in one transaction: either all of it stands or none.
 * The first one builds the table anew, so whatever another process left there is gone.
 */
import { type MapElement, type NftJson, type Ruleset, type RulesetOptions, tableName } from './ruleset.ts';

const addressType = (family: string) => (family === 'ip' ? 'ipv4_addr' : 'ipv6_addr');

export function transactionTo(
  desired: Ruleset,
  current: Ruleset | undefined,
  options: RulesetOptions,
): readonly NftJson[] {
  const { family } = options;
  const place = { family, table: tableName };
  const commands: NftJson[] = current ? [] : skeleton(options);
  const add = (what: string, body: object) => commands.push({ add: { [what]: { ...place, ...body } } });
  const before = current ?? { chains: new Map(), maps: new Map(), sets: new Map(), affinitySets: new Map() };

  for (const [name, seconds] of desired.affinitySets)
    if (before.affinitySets.get(name) !== seconds)
      add('set', { name, type: addressType(family), flags: ['timeout'], timeout: seconds });

  // All chains exist before the first rule that names one.
  const changed = [...desired.chains].filter(([name, rules]) => !sameRules(rules, before.chains.get(name)));
  for (const [name] of changed) add('chain', { name });
  for (const [name] of changed) if (before.chains.has(name)) commands.push({ flush: { chain: { ...place, name } } });
  for (const [name, rules] of changed) for (const expr of rules) add('rule', { chain: name, expr });

  // A map's element cannot change its verdict in place: it goes and comes back within the transaction.
  for (const [name, elements] of desired.maps) {
    const old = before.maps.get(name) ?? new Map<string, MapElement>();
    const gone = [...old].filter(([key, element]) => !sameVerdict(elements.get(key), element));
    const come = [...elements].filter(([key, element]) => !sameVerdict(old.get(key), element));
    if (gone.length > 0)
      commands.push({
        delete: { element: { ...place, name, elem: gone.map(([, { key, verdict }]) => [key, verdict]) } },
      });
    if (come.length > 0) add('element', { name, elem: come.map(([, { key, verdict }]) => [key, verdict]) });
  }
  for (const [name, elements] of desired.sets) {
    const old = before.sets.get(name) ?? new Set<string>();
    const gone = [...old].filter((element) => !elements.has(element));
    const come = [...elements].filter((element) => !old.has(element));
    if (gone.length > 0) commands.push({ delete: { element: { ...place, name, elem: gone } } });
    if (come.length > 0) add('element', { name, elem: come });
  }

  const unused = [...before.chains.keys()].filter((name) => !desired.chains.has(name));
  for (const name of unused) commands.push({ flush: { chain: { ...place, name } } });
  for (const name of unused) commands.push({ delete: { chain: { ...place, name } } });
  for (const name of before.affinitySets.keys())
    if (!desired.affinitySets.has(name)) commands.push({ delete: { set: { ...place, name } } });
  return commands;
}

function sameRules(a: readonly (readonly NftJson[])[], b: readonly (readonly NftJson[])[] | undefined): boolean {
  return b !== undefined && JSON.stringify(a) === JSON.stringify(b);
}

function sameVerdict(a: MapElement | undefined, b: MapElement | undefined): boolean {
  return a !== undefined && b !== undefined && JSON.stringify(a.verdict) === JSON.stringify(b.verdict);
}

/** The table with everything that does not depend on Services. */
function skeleton(options: RulesetOptions): NftJson[] {
  return [...emptyTable(options), ...fixedRules(options)];
}

/** A table, made anew, with chains, maps and sets that hold nothing yet. */
function emptyTable({ family }: RulesetOptions): NftJson[] {
  const place = { family, table: tableName };
  const commands: NftJson[] = [
    { add: { table: { family, name: tableName } } },
    { delete: { table: { family, name: tableName } } },
    { add: { table: { family, name: tableName } } },
  ];
  const base = (name: string, type: string, hook: string, prio: number) =>
    commands.push({ add: { chain: { ...place, name, type, hook, prio, policy: 'accept' } } });
  const chain = (name: string) => commands.push({ add: { chain: { ...place, name } } });
  const address = addressType(family);
  const map = (name: string, type: readonly string[]) =>
    commands.push({ add: { map: { ...place, name, type, map: 'verdict' } } });
  const set = (name: string) => commands.push({ add: { set: { ...place, name, type: address } } });

  for (const name of ['nat-prerouting', 'nat-output']) base(name, 'nat', name.slice(4), -100);
  base('nat-postrouting', 'nat', 'postrouting', 100);
  // Services without endpoints are told by their address, so before it is rewritten (-100); what still has a cluster IP after that
  // belongs to no port of any Service.
  base('filter-output-pre-dnat', 'filter', 'output', -110);
  for (const hook of ['input', 'forward', 'output']) base(`filter-${hook}`, 'filter', hook, 0);
  for (const name of [
    'services',
    'service-endpoints-check',
    'nodeport-endpoints-check',
    'cluster-ips-check',
    'mark-for-masquerade',
    'masquerading',
    'reject-chain',
    'drop-chain',
    'drop-chain-nat',
  ])
    chain(name);
  map('service-ips', [address, 'inet_proto', 'inet_service']);
  map('service-nodeports', ['inet_proto', 'inet_service']);
  map('no-endpoint-services', [address, 'inet_proto', 'inet_service']);
  map('no-endpoint-nodeports', ['inet_proto', 'inet_service']);
  set('cluster-ips');
  set('nodeport-ips');
  return commands;
}

function fixedRules(options: RulesetOptions): NftJson[] {
  const { family } = options;
  const commands: NftJson[] = [];
  const rule = (chain: string, ...expr: NftJson[]) =>
    commands.push({ add: { rule: { family, table: tableName, chain, expr } } });
  const daddr = { payload: { protocol: family, field: 'daddr' } };
  const l4proto = { meta: { key: 'l4proto' } };
  const dport = { payload: { protocol: 'th', field: 'dport' } };
  const isNew: NftJson = { match: { op: 'in', left: { ct: { key: 'state' } }, right: 'new' } };
  const toNodePortIp: NftJson = { match: { op: '==', left: daddr, right: '@nodeport-ips' } };
  rule('services', { vmap: { key: { concat: [daddr, l4proto, dport] }, data: '@service-ips' } });
  rule('services', toNodePortIp, { vmap: { key: { concat: [l4proto, dport] }, data: '@service-nodeports' } });
  for (const name of ['nat-prerouting', 'nat-output']) rule(name, { jump: { target: 'services' } });

  rule('service-endpoints-check', {
    vmap: { key: { concat: [daddr, l4proto, dport] }, data: '@no-endpoint-services' },
  });
  rule('nodeport-endpoints-check', toNodePortIp, {
    vmap: { key: { concat: [l4proto, dport] }, data: '@no-endpoint-nodeports' },
  });
  rule(
    'cluster-ips-check',
    { match: { op: '==', left: daddr, right: '@cluster-ips' } },
    { goto: { target: 'reject-chain' } },
  );
  for (const range of options.serviceCidrs.filter((cidr) => cidr.includes(':') === (family === 'ip6'))) {
    const [addr, len] = range.split('/');
    rule(
      'cluster-ips-check',
      { match: { op: '==', left: daddr, right: { prefix: { addr, len: Number(len) } } } },
      { drop: null },
    );
  }
  for (const name of ['filter-input', 'filter-output-pre-dnat'])
    rule(name, isNew, { jump: { target: 'nodeport-endpoints-check' } });
  for (const name of ['filter-input', 'filter-forward', 'filter-output-pre-dnat'])
    rule(name, isNew, { jump: { target: 'service-endpoints-check' } });
  for (const name of ['filter-forward', 'filter-output']) rule(name, isNew, { jump: { target: 'cluster-ips-check' } });
  // A reset reaches a connecting socket at once; an ICMP error that comes back within the sending call is only noticed a second later.
  rule('reject-chain', { match: { op: '==', left: l4proto, right: 'tcp' } }, { reject: { type: 'tcp reset' } });
  rule('reject-chain', { reject: null });
  rule('drop-chain', { drop: null });
  rule('drop-chain-nat', { drop: null });

  const bit = 1 << options.masqueradeBit;
  const mark = { meta: { key: 'mark' } };
  rule('mark-for-masquerade', { mangle: { key: mark, value: { '|': [mark, bit] } } });
  rule('masquerading', { match: { op: '==', left: { '&': [mark, bit] }, right: 0 } }, { return: null });
  rule('masquerading', { mangle: { key: mark, value: { '^': [mark, bit] } } });
  rule('masquerading', { masquerade: { flags: 'fully-random' } });
  rule('nat-postrouting', { jump: { target: 'masquerading' } });
  return commands;
}
