/** Two API servers over three members of etcd. */
import { memberOf } from '../../src/storage/etcd/process.fixture.ts';
import {
  awhile,
  clockStepped,
  cutFromClients,
  endedInOrder,
  type Fault,
  Field,
  frozen,
  killed,
  killedOnFullDisk,
  killedTimeAndAgain,
  oneOf,
  type Part,
  pause,
  type Rig,
  within,
} from './rig.ts';

const serverAddresses = ['10.99.0.1', '10.99.0.2'];
const memberAddresses = ['10.99.1.1', '10.99.1.2', '10.99.1.3'];
const clientUrl = (address: string) => `http://${address}:2379`;
const peerUrl = (address: string) => `http://${address}:2380`;

export function etcdRig(): Promise<Rig> {
  const field = new Field(serverAddresses);
  const members = memberAddresses.map((address, i) => startable(field, address, i));
  const etcdServers = `--etcd-servers=${memberAddresses.map(clientUrl).join(',')}`;
  const servers = serverAddresses.map((address, i) => field.apiServer(`server-${i}`, address, [etcdServers]));
  return field.rig({
    before: members,
    servers,
    faults: [
      killed('member killed', members),
      killedTimeAndAgain('member killed four times', members),
      frozen('member frozen', members),
      ...ofLeader(field, members),
      ...ofQuorum(members),
      ...ofNetwork(field),
      cutFromClients(field, servers),
      killedOnFullDisk('disk of a member full', members),
      killed('server killed', servers),
      frozen('server frozen', servers),
      endedInOrder('server ended in order', servers),
      clockStepped('clock of a server stepped', servers),
    ],
  });
}

function startable(field: Field, address: string, i: number): Part {
  const disk = field.disk(`m${i}`, 320);
  const cluster = memberAddresses.map((each, j) => `m${j}=${peerUrl(each)}`).join(',');
  const member = memberOf(clientUrl(address), [
    'nsenter',
    ...within(field.host(address)).slice(1),
    'etcd',
    ...['--name', `m${i}`, '--data-dir', `${disk.path}/data`, '--initial-cluster', cluster, '--logger', 'zap'],
    ...['--listen-client-urls', clientUrl(address), '--advertise-client-urls', clientUrl(address)],
    ...['--listen-peer-urls', peerUrl(address), '--initial-advertise-peer-urls', peerUrl(address)],
    ...['--heartbeat-interval', '50', '--election-timeout', '500'],
  ]);
  return field.part({ ...member, address, disk });
}

function ofLeader(field: Field, members: readonly Part[]): readonly Fault[] {
  const leader = () => members.find(({ address }) => address === leaderAddress(field)) ?? members[0]!;
  return [
    { name: 'leader killed', strike: (random) => killed('', [leader()]).strike(random) },
    { name: 'leader frozen', strike: (random) => frozen('', [leader()]).strike(random) },
    {
      name: 'leader cut off from the other members',
      strike(random) {
        const { address } = leader();
        return field.cut([address], without(memberAddresses, address), () => pause(random, awhile));
      },
    },
  ];
}

function leaderAddress(field: Field): string | undefined {
  const endpoints = `--endpoints=${memberAddresses.map(clientUrl).join(',')}`;
  const asked = ['env', 'ETCDCTL_API=3', 'etcdctl', endpoints, 'endpoint', 'status', '-w', 'json'] as const;
  const answers = JSON.parse(field.router.run(...asked)) as {
    readonly Endpoint: string;
    readonly Status: { readonly header: { readonly member_id: number }; readonly leader: number };
  }[];
  const found = answers.find(({ Status }) => Status.header.member_id === Status.leader);
  return found && new URL(found.Endpoint).hostname;
}

function ofQuorum(members: readonly Part[]): readonly Fault[] {
  return [
    {
      name: 'two members killed at once',
      async strike(random) {
        const two = without(members, oneOf(random, members));
        await Promise.all(two.map((member) => member.signal('SIGKILL')));
        await pause(random, awhile);
        await Promise.all(two.map((member) => member.start()));
      },
    },
    {
      name: 'all members killed at once',
      async strike() {
        await Promise.all(members.map((member) => member.signal('SIGKILL')));
        await Promise.all(members.map((member) => member.start()));
      },
    },
  ];
}

function ofNetwork(field: Field): readonly Fault[] {
  return [
    {
      name: 'member cut off from all',
      strike(random) {
        const address = oneOf(random, memberAddresses);
        const others = [...without(memberAddresses, address), ...serverAddresses];
        return field.cut([address], others, () => pause(random, awhile));
      },
    },
    {
      name: 'server cut off from a member',
      strike: (random) =>
        field.cut([oneOf(random, serverAddresses)], [oneOf(random, memberAddresses)], () => pause(random, awhile)),
    },
  ];
}

const without = <T>(all: readonly T[], one: T) => all.filter((each) => each !== one);
